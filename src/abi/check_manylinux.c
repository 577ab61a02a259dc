/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "abi/collector.h"
#include "abi/tables.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

/* ---- policies ---- */

static bool has_word(const char *words, kernels_view word) {
    kernels_view rest = kernels_view_of(words), piece;
    while (kernels_view_split(&rest, ' ', &piece)) {
        if (word.size > 0 && kernels_view_equal(piece, word)) {
            return true;
        }
    }
    return false;
}

kernels_status kernels_abi_policy_find(const char *name, size_t *index, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer known = KERNELS_BUFFER_INIT(4096);
    for (size_t i = 0; i < kernels_abi_policy_count; i++) {
        const kernels_abi_policy *policy = &kernels_abi_policies[i];
        if (strcmp(policy->name, name) == 0 || has_word(policy->aliases, kernels_view_of(name))) {
            *index = i;
            return KERNELS_OK;
        }
        kernels_buffer_printf(&known, i == 0 ? "%s" : ", %s", policy->name);
    }
    return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "there is no policy `%.100s`; known are %s", name,
                        kernels_buffer_text(&known));
}

static size_t find_arch(const kernels_abi_image *image) {
    for (size_t i = 0; i < kernels_abi_arch_count; i++) {
        if (image->policy_arch != NULL && strcmp(kernels_abi_archs[i].name, image->policy_arch) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static kernels_status find_arch_in(const kernels_abi_part *part, size_t policy, size_t *arch, kernels_error *error) {
    *arch = find_arch(&part->image);
    if (*arch == SIZE_MAX) {
        return kernels_fail(error, KERNELS_UNSUPPORTED, "%s: no manylinux policy knows the machine %s", part->path,
                            part->image.machine);
    }
    if ((kernels_abi_archs[*arch].policies >> policy & 1) == 0) {
        return kernels_fail(error, KERNELS_UNSUPPORTED, "%s: policy %s does not know the machine %s", part->path,
                            kernels_abi_policies[policy].name, part->image.machine);
    }
    return KERNELS_OK;
}

/* ---- one needed version ---- */

typedef struct verdict {
    kernels_view dep, version;                  /* "GLIBC", "2.34"; version normalised */
    char normalised[KERNELS_VERSION_TEXT_SIZE]; /* behind version */
    uint32_t allowed;                           /* policies that do not object */
    bool is_number;
    kernels_version number;
} verdict;

static size_t find_dep(kernels_view dep) {
    for (size_t i = 0; i < kernels_abi_dep_count; i++) {
        if (kernels_view_equal_text(dep, kernels_abi_deps[i])) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Policies that do not object to a version: numbers are compared by value (both are written without trailing zeros),
 * anything else by text. */
static uint32_t allowed_by(size_t arch, size_t dep, kernels_view version) {
    const kernels_abi_dep_row *row = &kernels_abi_dep_rows[arch * kernels_abi_dep_count + dep];
    uint32_t policies = ~row->policies;
    for (size_t i = row->first; i < (size_t)row->first + row->count; i++) {
        if (kernels_view_equal_text(version, kernels_abi_version_text + kernels_abi_version_rows[i].text)) {
            policies |= kernels_abi_version_rows[i].policies;
        }
    }
    return policies;
}

static void judge(size_t arch, kernels_view name, verdict *result) {
    size_t split = kernels_view_find(name, '_');
    result->allowed = UINT32_MAX;
    result->is_number = false;
    result->dep = kernels_view_slice(name, 0, split == SIZE_MAX ? 0 : split);
    size_t dep = split == SIZE_MAX ? SIZE_MAX : find_dep(result->dep);
    if (dep == SIZE_MAX) {
        return; /* no policy says anything about it */
    }
    kernels_view text = kernels_view_slice(name, split + 1, name.size);
    result->version = text;
    result->is_number = kernels_abi_version_read(text, &result->number);
    if (result->is_number) {
        kernels_abi_version_print(&result->number, result->normalised);
        result->version = kernels_view_of(result->normalised);
    }
    result->allowed = allowed_by(arch, dep, result->version);
}

/* Policy 0 is "linux": it promises nothing and knows no machine. */
static const char *oldest_policy(uint32_t policies) {
    for (size_t i = 1; i < kernels_abi_policy_count; i++) {
        if ((policies >> i & 1) != 0) {
            return kernels_abi_policies[i].name;
        }
    }
    return NULL;
}

uint32_t kernels_abi_policies_of(const kernels_abi_image *image, kernels_version *glibc) {
    size_t arch = find_arch(image);
    if (arch == SIZE_MAX || image->format != KERNELS_ABI_ELF) {
        return 0;
    }
    uint32_t policies = kernels_abi_archs[arch].policies;
    for (size_t i = 1; i < image->version_count; i++) {
        verdict one;
        judge(arch, image->versions[i].name, &one);
        policies &= one.allowed;
        if (glibc != NULL && one.is_number && kernels_view_equal_text(one.dep, "GLIBC") &&
            kernels_version_compare(&one.number, glibc) > 0) {
            *glibc = one.number;
        }
    }
    return policies;
}

/* ---- findings ---- */

/* policies: those of the machine. */
static kernels_status collect(const kernels_abi_image *image, uint32_t policies, const char *policy,
                              kernels_view symbol, const kernels_abi_version *version, const verdict *one,
                              kernels_abi_collector *collector, kernels_error *error) {
    const kernels_abi_draft draft = {.kind = KERNELS_ABI_VERSION_NOT_ALLOWED,
                                     .name = symbol,
                                     .dep = one->dep,
                                     .version = one->version,
                                     .library = version->library};
    const char *oldest = oldest_policy(one->allowed & policies);
    return kernels_abi_collect(
        collector, &draft, error, "%s%.*s%sneeds %.*s%s%.*s, which %s does not promise on %s; %s would",
        symbol.size > 0 ? "`" : "the library ", KERNELS_VIEW_ARGS(symbol), symbol.size > 0 ? "` " : "",
        KERNELS_VIEW_ARGS(version->name), version->library.size > 0 ? " of " : "", KERNELS_VIEW_ARGS(version->library),
        policy, image->machine, oldest != NULL ? oldest : "no policy");
}

static kernels_status check_versions(const kernels_abi_part *part, size_t policy, size_t arch,
                                     kernels_abi_collector *collector, kernels_error *error) {
    const kernels_abi_image *image = &part->image;
    const char *name = kernels_abi_policies[policy].name;
    KERNELS_CLEANUP_FREE verdict *verdicts = kernels_calloc(image->version_count, sizeof verdicts[0]);
    uint32_t policies = kernels_abi_archs[arch].policies, bit = (uint32_t)1 << policy;
    if (verdicts == NULL) {
        return kernels_fail_no_memory(error);
    }
    verdicts[0].allowed = UINT32_MAX;
    for (size_t i = 1; i < image->version_count; i++) {
        judge(arch, image->versions[i].name, &verdicts[i]);
        if ((verdicts[i].allowed & bit) == 0 && !image->versions[i].is_used) {
            KERNELS_TRY(
                collect(image, policies, name, KERNELS_VIEW(""), &image->versions[i], &verdicts[i], collector, error));
        }
    }
    for (size_t i = 0; i < image->symbol_count; i++) {
        uint32_t version = image->symbols[i].version;
        if ((verdicts[version].allowed & bit) == 0) {
            KERNELS_TRY(collect(image, policies, name, image->symbols[i].name, &image->versions[version],
                                &verdicts[version], collector, error));
        }
    }
    return KERNELS_OK;
}

static bool is_needed(const kernels_abi_image *image, const char *library) {
    for (size_t i = 0; i < image->needed.count; i++) {
        if (kernels_view_equal_text(image->needed.items[i], library)) {
            return true;
        }
    }
    return false;
}

static kernels_status check_forbidden(const kernels_abi_part *part, size_t policy, kernels_abi_collector *collector,
                                      kernels_error *error) {
    const kernels_abi_image *image = &part->image;
    for (size_t i = 0; i < kernels_abi_forbidden_row_count; i++) {
        const kernels_abi_forbidden_row *row = &kernels_abi_forbidden_rows[i];
        if ((row->policies >> policy & 1) == 0 || !is_needed(image, row->library)) {
            continue;
        }
        kernels_view symbol = kernels_view_of(row->symbol);
        for (size_t j = 0; j < image->symbol_count; j++) {
            if (!kernels_view_equal(image->symbols[j].name, symbol)) {
                continue;
            }
            const kernels_abi_draft draft = {.kind = KERNELS_ABI_FORBIDDEN_SYMBOL,
                                             .severity = KERNELS_ABI_WARNING,
                                             .name = image->symbols[j].name,
                                             .dep = kernels_view_of(row->library),
                                             .library = kernels_view_of(row->library)};
            KERNELS_TRY(kernels_abi_collect(collector, &draft, error, "`%s` is a private symbol of %s: %s forbids it",
                                            row->symbol, row->library, kernels_abi_policies[policy].name));
        }
    }
    return KERNELS_OK;
}

/* ---- as released checkers do it ---- */

/* NAME@DEP_VERSION[_ignored]; anything that is no number ends the check. */
static kernels_status check_reference_symbol(const kernels_abi_part *part, size_t policy, size_t arch,
                                             kernels_view symbol, kernels_abi_collector *collector,
                                             kernels_error *error) {
    kernels_view parts = symbol, name, node, rest, dep, text;
    if (!kernels_view_split(&parts, '@', &name) || !kernels_view_split(&parts, '@', &node)) {
        return KERNELS_OK;
    }
    rest = node;
    if (!kernels_view_split(&rest, '_', &dep) || !kernels_view_split(&rest, '_', &text)) {
        return KERNELS_OK;
    }
    verdict one = {.dep = dep};
    KERNELS_TRY(kernels_version_parse(text, &one.number, error));
    one.is_number = true;
    size_t index = find_dep(dep);
    if (index == SIZE_MAX) {
        return KERNELS_OK;
    }
    kernels_abi_version_print(&one.number, one.normalised);
    one.version = kernels_view_of(one.normalised);
    one.allowed = allowed_by(arch, index, one.version);
    if ((one.allowed >> policy & 1) != 0) {
        return KERNELS_OK;
    }
    const kernels_abi_version version = {.name = node};
    return collect(&part->image, kernels_abi_archs[arch].policies, kernels_abi_policies[policy].name, name, &version,
                   &one, collector, error);
}

kernels_status kernels_abi_image_manylinux(const kernels_abi_part *part, size_t policy,
                                           kernels_abi_collector *collector, kernels_error *error) {
    size_t arch;
    collector->check = KERNELS_ABI_CHECK_MANYLINUX;
    KERNELS_TRY(find_arch_in(part, policy, &arch, error));
    if (!part->symtab_only) {
        KERNELS_TRY(check_versions(part, policy, arch, collector, error));
        return check_forbidden(part, policy, collector, error);
    }
    for (size_t i = 0; i < part->image.symbol_count; i++) {
        KERNELS_TRY(check_reference_symbol(part, policy, arch, part->image.symbols[i].name, collector, error));
    }
    return KERNELS_OK;
}
