/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_support.h"

#include "base/options.h"
#include "base/view.h"

typedef struct seen {
    int runs;
    bool json;
    const char *revision;
    int64_t version;
    size_t positionals, backends;
    const char *first_backend, *choice, *kernel;
    bool machine_given;
    const char *machine;
} seen;

static int run(const kernels_arguments *arguments, void *payload) {
    seen *record = payload;
    record->runs++;
    record->json = kernels_arguments_flag(arguments, "json");
    record->revision = kernels_arguments_text(arguments, "revision");
    record->version = kernels_arguments_integer(arguments, "version", -99);
    record->positionals = kernels_arguments_positional_count(arguments);
    record->kernel = kernels_arguments_positional(arguments, 0);
    kernels_option_list backends = kernels_arguments_list(arguments, "backends");
    record->backends = backends.count;
    record->first_backend = backends.count ? backends.values[0] : NULL;
    record->choice = kernels_arguments_text(arguments, "kind");
    record->machine_given = kernels_arguments_given(arguments, "machine");
    record->machine = kernels_arguments_text(arguments, "machine");
    return 7;
}

static const char *const kinds[] = {"kernel", "model", NULL};
static const char *const backend_names[] = {"cpu", "tpu", NULL};
static const kernels_option options[] = {
    {.name = "json", .short_name = 'j', .type = KERNELS_OPTION_FLAG, .help = "Print JSON."},
    {.name = "revision", .type = KERNELS_OPTION_TEXT, .value_name = "REV", .help = "Branch, tag or commit."},
    {.name = "version", .short_name = 'n', .type = KERNELS_OPTION_INTEGER, .value_name = "N", .help = "Version."},
    {.name = "verbose-log", .type = KERNELS_OPTION_FLAG, .exact_name = true, .help = "More."},
    {.name = "backends", .type = KERNELS_OPTION_GREEDY, .choices = backend_names, .ignore_case = true, .help = "B."},
    {.name = "kind", .type = KERNELS_OPTION_CHOICE, .choices = kinds, .help = "Kind."},
    {.name = "machine", .type = KERNELS_OPTION_MAYBE, .value_name = "FILE", .exact_name = true, .help = "M."},
    {.name = NULL},
};
static const kernels_positional positionals[] = {{.name = "KERNEL", .help = "Name.", .required = true}, {.name = NULL}};
static const kernels_command info = {
    .name = "info", .summary = "Show a kernel.", .options = options, .positionals = positionals, .run = run};
static const kernels_command *const commands[] = {&info, NULL};
static const kernels_program argparse_style = {
    .name = "kernels", .summary = "Kernels.", .version_line = "kernels 1", .commands = commands, .prefixes = true};
static const kernels_program clap_style = {.name = "kernel-builder",
                                           .summary = "Builder.",
                                           .version_line = "kernel-builder 1",
                                           .commands = commands,
                                           .version_short = 'V'};

#define WORDS_MAX 16

/* Splits the line at blanks and runs the program on it. "\x1f" stands for a blank inside a word. */
static int call(const kernels_program *program, const char *line, seen *record) {
    static char copy[1024];
    char *words[WORDS_MAX] = {(char *)"program"};
    int count = 1;
    (void)snprintf(copy, sizeof copy, "%s", line);
    char *word = copy;
    while (*word && count < WORDS_MAX - 1) {
        words[count++] = word;
        char *blank = strchr(word, ' ');
        if (!blank) {
            break;
        }
        *blank = '\0';
        word = blank + 1;
    }
    for (int i = 1; i < count; i++) {
        for (char *c = words[i]; *c; c++) {
            *c = *c == '\x1f' ? ' ' : *c;
        }
    }
    memset(record, 0, sizeof *record);
    return kernels_program_main(program, count, words, record);
}

static void argparse_style_lines(void **state) {
    (void)state;
    seen record;
    assert_int_equal(call(&argparse_style, "info a/b --json --version -3", &record), 7);
    assert_true(record.json && record.version == -3);
    assert_string_equal(record.kernel, "a/b");
    assert_int_equal(call(&argparse_style, "info --ver 1_000 --rev=-x a/b --rev last", &record), 7);
    assert_true(record.version == 1000);
    assert_string_equal(record.revision, "last");
    assert_int_equal(call(&argparse_style, "info --version \x1f+7\x1f -- --json", &record), 7);
    assert_string_equal(record.kernel, "--json");
    assert_true(record.version == 7 && !record.json);
    assert_int_equal(call(&argparse_style, "info a/b --ve 3", &record), 7); /* verbose-log needs its full name */
    assert_true(record.version == 3);
}

/* Alone, with the next word, attached; never with an option. */
static void values_that_may_be_missing(void **state) {
    (void)state;
    seen record;
    assert_int_equal(call(&argparse_style, "info a/b", &record), 7);
    assert_false(record.machine_given);
    assert_int_equal(call(&argparse_style, "info a/b --machine", &record), 7);
    assert_true(record.machine_given && record.machine == NULL);
    assert_int_equal(call(&argparse_style, "info a/b --machine --json", &record), 7);
    assert_true(record.machine_given && record.machine == NULL && record.json);
    assert_int_equal(call(&argparse_style, "info a/b --machine m.json", &record), 7);
    assert_string_equal(record.machine, "m.json");
    assert_int_equal(call(&argparse_style, "info --machine=-x a/b", &record), 7);
    assert_string_equal(record.machine, "-x");
    assert_int_equal(call(&argparse_style, "info --machine a/b", &record), KERNELS_EXIT_USAGE); /* KERNEL is missing */
}

static void usage_errors(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "inf a/b",
                                      "info",
                                      "info a b",
                                      "info a --json=yes",
                                      "info a --nope",
                                      "info a --version 1.0",
                                      "info a --version 0x1",
                                      "info a --version 1__0",
                                      "info a --version 9223372036854775808",
                                      "info a --version",
                                      "info a --revision --json",
                                      "info a --verbose",
                                      "info a --kind other",
                                      "info a --backends gpu"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        seen record;
        int code = call(&argparse_style, bad[i], &record);
        if (code != KERNELS_EXIT_USAGE || record.runs != 0) {
            fail_msg("`%s` gave %d", bad[i], code);
        }
    }
}

static void clap_style_lines(void **state) {
    (void)state;
    seen record;
    assert_int_equal(call(&clap_style, "info -jn5 a/b", &record), 7);
    assert_true(record.json && record.version == 5);
    assert_int_equal(call(&clap_style, "info a/b --backends TPU cpu -n 1 --backends tpu", &record), 7);
    assert_int_equal(record.backends, 3);
    assert_string_equal(record.first_backend, "tpu");
    assert_int_equal(call(&clap_style, "info a/b --json --json", &record), KERNELS_EXIT_USAGE);
    assert_int_equal(call(&clap_style, "info a/b --vers 1", &record), KERNELS_EXIT_USAGE);
    assert_int_equal(call(&clap_style, "help info", &record), KERNELS_EXIT_OK);
    assert_int_equal(call(&clap_style, "info --help", &record), KERNELS_EXIT_OK);
    assert_int_equal(call(&clap_style, "-V", &record), KERNELS_EXIT_OK);
    assert_int_equal(call(&clap_style, "", &record), KERNELS_EXIT_USAGE);
    assert_int_equal(record.runs, 0);
}

/* `kernels cache info`: usage and man page name the whole way to a sub-command. */
static void subcommands_are_named_in_full(void **state) {
    (void)state;
    static const kernels_command *const below[] = {&info, NULL};
    static const kernels_command cache = {.name = "cache", .summary = "The cache.", .subcommands = below};
    static const kernels_command *const top[] = {&cache, NULL};
    static const kernels_program program = {.name = "kernels", .summary = "Kernels.", .commands = top};
    kernels_buffer text = KERNELS_BUFFER_INIT(100000);
    kernels_options_help(&text, &program, &info);
    assert_contains(kernels_buffer_text(&text), "usage: kernels cache info [OPTIONS] KERNEL");
    kernels_buffer_reset(&text);
    kernels_options_man(&text, &program);
    assert_contains(kernels_buffer_text(&text), "kernels cache info [OPTIONS] KERNEL");
    assert_contains(kernels_buffer_text(&text), "\\-\\-revision REV");
    kernels_buffer_dispose(&text);
    seen record;
    assert_int_equal(call(&program, "cache info a/b", &record), 7);
}

static void texts_name_everything(void **state) {
    (void)state;
    kernels_buffer text = KERNELS_BUFFER_INIT(100000);
    kernels_options_help(&text, &argparse_style, &info);
    assert_contains(kernels_buffer_text(&text), "usage: kernels info [OPTIONS] KERNEL");
    assert_contains(kernels_buffer_text(&text), "--machine [FILE]");
    for (const kernels_option *option = options; option->name; option++) {
        assert_contains(kernels_buffer_text(&text), option->name);
    }
    kernels_buffer_reset(&text);
    kernels_options_man(&text, &argparse_style);
    assert_contains(kernels_buffer_text(&text), "\\-\\-revision REV");
    static const char *const shells[] = {"bash", "zsh", "fish", "elvish", "powershell"};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        kernels_buffer_reset(&text);
        assert_true(kernels_options_completion(&text, &clap_style, shells[i]));
        assert_contains(kernels_buffer_text(&text), "info");
        assert_contains(kernels_buffer_text(&text), "revision");
    }
    assert_false(kernels_options_completion(&text, &clap_style, "csh"));
    kernels_buffer_dispose(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(argparse_style_lines),  cmocka_unit_test(usage_errors),
        cmocka_unit_test(clap_style_lines),      cmocka_unit_test(subcommands_are_named_in_full),
        cmocka_unit_test(texts_name_everything), cmocka_unit_test(values_that_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
