/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_support.h"

#include "base/similar.h"
#include "base/view.h"

static const char *const names[] = {"check", "download",  "info", "inspect", "versions",
                                    "lock",  "benchmark", "run",  NULL};

static void meant(const char *word, const char *wanted) {
    kernels_similar best = KERNELS_SIMILAR_INIT;
    for (size_t i = 0; names[i]; i++) {
        kernels_similar_consider(&best, kernels_view_of(word), names[i]);
    }
    if (!best.name != !wanted || (wanted && strcmp(best.name, wanted) != 0)) {
        fail_msg("`%s` gave `%s`, not `%s`", word, best.name ? best.name : "(none)", wanted ? wanted : "(none)");
    }
}

static void slips(void **state) {
    (void)state;
    meant("infoo", "info");        /* added */
    meant("inf", "info");          /* missing */
    meant("imfo", "info");         /* changed */
    meant("vresions", "versions"); /* exchanged */
    meant("vresion", "versions");  /* and missing */
    meant("lokc", "lock");
    meant("run", "run");
    meant("bench", "benchmark"); /* the beginning of a longer one */
    meant("in", "info");         /* the first of two */
    meant("downlaod", "download");
}

static void other_words(void **state) {
    (void)state;
    meant("", NULL);
    meant("x", NULL);
    meant("bogus", NULL);
    meant("r1n", "run");
    meant("r11", NULL); /* two letters of three */
    meant("vxrsxxns", NULL);
    meant("benchmarkbenchmarkbenchmarkbenchmark", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slips), cmocka_unit_test(other_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
