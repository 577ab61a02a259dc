/* SPDX-License-Identifier: Apache-2.0 */
/* The hub for people: a list of kernels, and a page for each. No script, nothing from elsewhere. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/view.h"
#include "server/api.h"
#include "server/html.h"
#include "server/markdown.h"
#include "server/versions.h"

#define INDEX_PAGE ((size_t)100)
#define CARD_LIMIT ((size_t)256 * 1024)
#define BRANCHES "refs/heads/"
#define PULL_REQUESTS "refs/pr/"

static void begin_html(kernels_response *response, kernels_view title) {
    kernels_response_set_header(response, "Content-Type", "text/html; charset=utf-8");
    kernels_response_set_header(response, "Content-Security-Policy",
                                "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
                                "frame-ancestors 'none'");
    kernels_response_set_header(response, "X-Content-Type-Options", "nosniff");
    kernels_response_set_header(response, "Referrer-Policy", "no-referrer");
    kernels_html_begin(&response->text, title);
}

kernels_status kernels_api_style(kernels_request *request, kernels_response *response, kernels_error *error) {
    (void)request;
    (void)error;
    kernels_response_set_header(response, "Content-Type", "text/css; charset=utf-8");
    kernels_response_set_header(response, "Cache-Control", "max-age=3600");
    kernels_buffer_add_text(&response->text, kernels_html_style);
    return KERNELS_OK;
}

/* ---- the list ---- */

static void add_repository_link(kernels_buffer *out, kernels_repository_type type, const char *id) {
    kernels_buffer_printf(out, "<a href=\"/%s%s\">%s</a>", kernels_route_prefix(type), id, id); /* ids need no escape */
}

static kernels_status write_index_row(kernels_request *request, kernels_repository_type type, const char *id,
                                      size_t *shown, kernels_buffer *out, kernels_error *error) {
    kernels_store_ref *refs;
    size_t count;
    uint64_t version;
    kernels_repository *repository = NULL;
    if (kernels_repository_open(request->service->store, type, kernels_view_of(id), &repository, NULL) != KERNELS_OK) {
        return KERNELS_OK; /* deleted meanwhile */
    }
    kernels_status status = KERNELS_OK;
    if (kernels_request_may_read(request, kernels_view_of(id), repository)) {
        (*shown)++;
        status = kernels_repository_refs(repository, request->arena, &refs, &count, error);
        if (status == KERNELS_OK) {
            kernels_buffer_add_text(out, "<tr><td>");
            add_repository_link(out, type, id);
            kernels_buffer_add_text(out, "</td><td>");
            if (kernels_refs_latest_version(refs, count, &version)) {
                kernels_buffer_printf(out, "v%" PRIu64, version);
            }
            kernels_buffer_printf(out, "</td><td class=\"soft\">%s</td></tr>\n",
                                  type == KERNELS_REPOSITORY_MODEL ? "model repository" : "");
        }
    }
    kernels_repository_close(repository);
    return status;
}

static kernels_status write_index_rows(kernels_request *request, kernels_repository_type type, const char **last,
                                       size_t *shown, kernels_buffer *out, kernels_error *error) {
    kernels_view after = kernels_target_query(&request->target, "after");
    const char **ids;
    size_t count;
    KERNELS_TRY(kernels_store_repositories(request->service->store, type, request->arena, &ids, &count, error));
    for (size_t i = 0; i < count && *shown < INDEX_PAGE; i++) {
        if (after.data == NULL || kernels_view_compare(kernels_view_of(ids[i]), after) > 0) {
            KERNELS_TRY(write_index_row(request, type, ids[i], shown, out, error));
            *last = ids[i];
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_api_index(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_buffer *out = &response->text;
    const char *last = NULL;
    size_t shown = 0;
    begin_html(response, KERNELS_VIEW("Kernel hub"));
    kernels_buffer_add_text(
        out, "<h1>Kernels</h1>\n<table>\n<tr><th>Repository</th><th>Latest version</th><th></th></tr>\n");
    KERNELS_TRY(write_index_rows(request, KERNELS_REPOSITORY_KERNEL, &last, &shown, out, error));
    const char *last_kernel = shown == INDEX_PAGE ? last : NULL;
    if (kernels_target_query(&request->target, "after").data == NULL) {
        KERNELS_TRY(write_index_rows(request, KERNELS_REPOSITORY_MODEL, &last, &shown, out, error));
    }
    kernels_buffer_add_text(out, "</table>\n");
    if (shown == 0) {
        kernels_buffer_printf(out,
                              "<p>Nothing is published here yet. To publish a kernel:</p>\n<pre><code>export "
                              "HF_ENDPOINT=%s\nkernel-builder build\nkernel-builder upload</code></pre>\n",
                              kernels_request_base_url(request));
    }
    if (last_kernel != NULL) {
        kernels_buffer_printf(out, "<p><a href=\"/kernels?after=%s\">Next page</a></p>\n", last_kernel);
    }
    kernels_html_end(out);
    return KERNELS_OK;
}

/* ---- one repository ---- */

typedef struct page {
    kernels_request *request;
    kernels_buffer *out;
    const char *id;
    const char *revision; /* as people say it: "v1", "main", "refs/pr/1", a commit */
    char commit[KERNELS_COMMIT_ID_SIZE];
    kernels_store_ref *refs;
    size_t ref_count;
} page;

static kernels_status choose_revision(page *p, kernels_error *error) {
    kernels_request *request = p->request;
    uint64_t version;
    if (request->route.revision.size == 0) {
        bool has_version = kernels_refs_latest_version(p->refs, p->ref_count, &version);
        p->revision = has_version ? kernels_arena_printf(request->arena, "v%" PRIu64, version) : "main";
    } else {
        p->revision = kernels_arena_copy_text(request->arena, request->route.revision);
    }
    if (p->revision == NULL) {
        return kernels_fail_no_memory(error);
    }
    return kernels_repository_resolve(request->repository, kernels_view_of(p->revision), p->commit, error);
}

static void add_revision_link(page *p, const char *revision, const char *label) {
    if (strcmp(revision, p->revision) == 0) {
        kernels_html_element(p->out, "strong", kernels_view_of(label));
        return;
    }
    kernels_buffer_printf(p->out, "<a href=\"/%s%s/tree/", kernels_route_prefix(p->request->route.type), p->id);
    kernels_encode_percent(p->out, kernels_view_of(revision), false);
    kernels_buffer_add_text(p->out, "\">");
    kernels_html_text(p->out, kernels_view_of(label));
    kernels_buffer_add_text(p->out, "</a>\n");
}

/* Newest version first, other branches behind by name. */
static int compare_branches(const void *a, const void *b) {
    const char *x = ((const kernels_store_ref *)a)->name, *y = ((const kernels_store_ref *)b)->name;
    uint64_t one, other;
    bool x_is_version = kernels_ref_version(x, &one), y_is_version = kernels_ref_version(y, &other);
    if (x_is_version && y_is_version) {
        return one < other ? 1 : -1;
    }
    return x_is_version != y_is_version ? (x_is_version ? -1 : 1) : strcmp(x, y);
}

static void write_links(page *p, const char *prefix, bool is_short) {
    for (size_t i = 0; i < p->ref_count; i++) {
        const char *name = p->refs[i].name, *label = name + strlen(prefix);
        if (strncmp(name, prefix, strlen(prefix)) == 0) {
            add_revision_link(p, is_short ? label : name, label);
        }
    }
}

static void write_revisions(page *p) {
    bool has_pulls = false;
    for (size_t i = 0; i < p->ref_count; i++) {
        has_pulls = has_pulls || strncmp(p->refs[i].name, PULL_REQUESTS, strlen(PULL_REQUESTS)) == 0;
    }
    qsort(p->refs, p->ref_count, sizeof *p->refs, compare_branches);
    kernels_buffer_add_text(p->out, "<p class=\"versions\">\n");
    write_links(p, BRANCHES, true);
    kernels_buffer_add_text(p->out, "</p>\n");
    if (has_pulls) {
        kernels_buffer_add_text(p->out, "<p class=\"versions\">Pull requests:\n");
        write_links(p, PULL_REQUESTS, false);
        kernels_buffer_add_text(p->out, "</p>\n");
    }
}

static kernels_status write_head(page *p, kernels_error *error) {
    kernels_request *request = p->request;
    int64_t time;
    kernels_view owner = kernels_view_of(p->id);
    owner = kernels_view_slice(owner, 0, kernels_view_find(owner, '/'));
    KERNELS_TRY(kernels_repository_commit_time(request->repository, p->commit, &time, error));
    kernels_html_element(p->out, "h1", kernels_view_of(p->id));
    kernels_buffer_add_text(p->out, "<p>");
    if (kernels_service_trusts(request->service, owner)) {
        kernels_buffer_add_text(p->out, "<span class=\"badge\">trusted publisher</span> ");
    }
    if (kernels_request_is_private(request)) {
        kernels_buffer_add_text(p->out, "<span class=\"badge\">private</span> ");
    }
    const char *when = kernels_format_time(request->arena, time);
    kernels_buffer_printf(p->out, "<span class=\"soft\">commit <code>%.10s</code>, %.10s</span></p>\n", p->commit,
                          when != NULL ? when : "");
    write_revisions(p);
    return KERNELS_OK;
}

static void write_use(page *p) {
    kernels_request *request = p->request;
    kernels_buffer *out = p->out;
    uint64_t version;
    kernels_view owner = kernels_view_of(p->id);
    owner = kernels_view_slice(owner, 0, kernels_view_find(owner, '/'));
    const char *full = kernels_arena_printf(request->arena, BRANCHES "%s", p->revision);
    bool has_version = full != NULL && kernels_ref_version(full, &version);
    const char *trust = kernels_service_trusts(request->service, owner) ? "" : ", trust_remote_code=True";
    if (request->route.type != KERNELS_REPOSITORY_KERNEL) {
        return;
    }
    kernels_buffer_printf(out, "<h2>Use it</h2>\n<pre><code>export HF_ENDPOINT=%s\nkernels versions %s</code></pre>\n",
                          kernels_request_base_url(request), p->id);
    kernels_buffer_printf(out, "<pre><code>from kernels import get_kernel\n\nkernel = get_kernel(&quot;%s&quot;, ",
                          p->id);
    if (has_version) {
        kernels_buffer_printf(out, "version=%" PRIu64, version);
    } else {
        kernels_buffer_add_text(out, "revision=&quot;");
        kernels_html_text(out, kernels_view_of(p->revision));
        kernels_buffer_add_text(out, "&quot;");
    }
    kernels_buffer_printf(out, "%s)</code></pre>\n", trust);
}

/* ---- variants ---- */

typedef struct variant_row {
    kernels_variant variant;
    size_t files;
    uint64_t size;
    kernels_store_entry metadata; /* path NULL: none */
} variant_row;

/* Whole text of a file in the arena; data NULL when it is longer than the limit or cannot be read. */
static kernels_view read_text(kernels_request *request, const kernels_store_entry *entry, size_t limit) {
    kernels_view text = {NULL, 0};
    kernels_blob_reader *reader = NULL;
    size_t got = 1, size = 0;
    if (entry->lfs_sha256[0] != '\0' || entry->size > limit ||
        kernels_blob_reader_open(request->repository, entry->oid, 0, &reader, NULL) != KERNELS_OK) {
        return text;
    }
    char *data = kernels_arena_allocate(request->arena, (size_t)entry->size + 1);
    while (data != NULL && got > 0 &&
           kernels_blob_reader_read(reader, data + size, (size_t)entry->size - size, &got, NULL) == KERNELS_OK) {
        size += got;
    }
    kernels_blob_reader_close(reader);
    if (data != NULL && size == entry->size) {
        text = (kernels_view){data, size};
    }
    return text;
}

/* Entries of one folder stand together; each begins with the folder itself. */
static kernels_status collect_variants(page *p, variant_row **rows, size_t *count, kernels_error *error) {
    const kernels_view folder = KERNELS_VIEW("build/");
    kernels_store_page files;
    kernels_request *request = p->request;
    *count = 0;
    kernels_status status = kernels_repository_list(request->repository, p->commit, KERNELS_VIEW("build"), true, 0,
                                                    KERNELS_STORE_ENTRIES_LIMIT, request->arena, &files, error);
    if (status == KERNELS_ENTRY_NOT_FOUND) {
        kernels_error_dispose(error);
        return KERNELS_OK;
    }
    KERNELS_TRY(status);
    *rows = kernels_arena_array(request->arena, files.count + 1, sizeof **rows);
    if (*rows == NULL) {
        return kernels_fail_no_memory(error);
    }
    bool inside = false; /* of a variant */
    for (size_t i = 0; i < files.count; i++) {
        const kernels_store_entry *entry = &files.entries[i];
        kernels_view rest = kernels_view_of(entry->path);
        rest = kernels_view_slice(rest, folder.size, rest.size);
        bool is_top = kernels_view_find(rest, '/') == SIZE_MAX;
        if (is_top) {
            variant_row *row = &(*rows)[*count];
            inside = entry->is_directory && kernels_variant_parse(rest, &row->variant, NULL) == KERNELS_OK;
            *count += inside;
        } else if (inside && !entry->is_directory) {
            variant_row *row = &(*rows)[*count - 1];
            row->files++;
            row->size += entry->size;
            if (kernels_view_equal_text(kernels_view_slice(rest, strlen(row->variant.name) + 1, rest.size),
                                        "metadata.json")) {
                row->metadata = *entry;
            }
        }
    }
    return KERNELS_OK;
}

static void write_metadata_cells(page *p, const variant_row *row) {
    kernels_metadata metadata;
    char backend[64];
    kernels_view text = {NULL, 0};
    if (row->metadata.path != NULL) {
        text = read_text(p->request, &row->metadata, CARD_LIMIT);
    }
    kernels_variant_print_backend(&row->variant, backend);
    kernels_html_element(p->out, "td", kernels_view_of(backend));
    if (text.data == NULL || kernels_metadata_parse(text, "metadata", &metadata, NULL) != KERNELS_OK) {
        kernels_buffer_add_text(p->out, "<td></td><td></td>");
        return;
    }
    kernels_buffer_add_text(p->out, "<td>");
    for (size_t i = 0; metadata.has_archs && i < metadata.archs.count; i++) {
        kernels_buffer_add_text(p->out, i > 0 ? ", " : "");
        kernels_html_text(p->out, kernels_view_of(metadata.archs.items[i]));
    }
    kernels_buffer_add_text(p->out, "</td>");
    kernels_html_element(p->out, "td", kernels_view_of(metadata.license));
    kernels_metadata_dispose(&metadata);
}

static kernels_status write_variants(page *p, kernels_error *error) {
    variant_row *rows = NULL;
    size_t count;
    KERNELS_TRY(collect_variants(p, &rows, &count, error));
    if (count == 0) {
        kernels_buffer_add_text(p->out, "<p>This revision has no build variants.</p>\n");
        return KERNELS_OK;
    }
    kernels_buffer_add_text(p->out, "<h2>Variants</h2>\n<table>\n<tr><th>Variant</th><th>Backend</th>"
                                    "<th>Architectures</th><th>Licence</th><th class=\"number\">Files</th>"
                                    "<th class=\"number\">Size</th></tr>\n");
    for (size_t i = 0; i < count; i++) {
        kernels_buffer_add_text(p->out, "<tr><td><code>");
        kernels_html_text(p->out, kernels_view_of(rows[i].variant.name));
        kernels_buffer_add_text(p->out, "</code></td>");
        write_metadata_cells(p, &rows[i]);
        kernels_buffer_printf(p->out, "<td class=\"number\">%zu</td><td class=\"number\">", rows[i].files);
        kernels_html_size(p->out, rows[i].size);
        kernels_buffer_add_text(p->out, "</td></tr>\n");
    }
    kernels_buffer_add_text(p->out, "</table>\n");
    return KERNELS_OK;
}

/* ---- the card ---- */

/* Of this revision, else of main, where uploads put it. */
static void write_card(page *p) {
    kernels_request *request = p->request;
    char main_commit[KERNELS_COMMIT_ID_SIZE];
    kernels_store_entry entry;
    const char *commits[] = {p->commit, main_commit};
    kernels_view text = {NULL, 0};
    if (kernels_repository_resolve(request->repository, KERNELS_VIEW("main"), main_commit, NULL) != KERNELS_OK) {
        commits[1] = p->commit;
    }
    for (size_t i = 0; i < 2 && text.data == NULL; i++) {
        if (kernels_repository_entry(request->repository, commits[i], KERNELS_VIEW("README.md"), request->arena, &entry,
                                     NULL) == KERNELS_OK &&
            !entry.is_directory) {
            text = read_text(request, &entry, CARD_LIMIT);
        }
    }
    if (text.data != NULL && kernels_view_is_utf8(text)) {
        kernels_buffer_add_text(p->out, "<h2>Card</h2>\n<div class=\"card\">\n");
        kernels_markdown_render(p->out, text);
        kernels_buffer_add_text(p->out, "</div>\n");
    }
}

kernels_status kernels_api_page(kernels_request *request, kernels_response *response, kernels_error *error) {
    page p = {.request = request, .out = &response->text};
    p.id = kernels_arena_copy_text(request->arena, request->route.repository);
    if (p.id == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_repository_refs(request->repository, request->arena, &p.refs, &p.ref_count, error));
    KERNELS_TRY(choose_revision(&p, error));
    begin_html(response, kernels_view_of(p.id));
    KERNELS_TRY(write_head(&p, error));
    write_use(&p);
    KERNELS_TRY(write_variants(&p, error));
    write_card(&p);
    kernels_html_end(p.out);
    return KERNELS_OK;
}
