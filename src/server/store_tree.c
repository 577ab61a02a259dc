/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/path.h"
#include "base/view.h"
#include "server/lfs_pointer.h"
#include "server/store_internal.h"
#include "server/store_loose.h"

const char *kernels_store_path_unsafe_reason(kernels_view path) {
    const char *reason = kernels_path_unsafe_reason(path);
    kernels_view rest = path, component;
    size_t depth = 0;
    while (reason == NULL && kernels_view_split(&rest, '/', &component)) {
        if (kernels_view_equal_ascii_case(component, KERNELS_VIEW(".git")) ||
            kernels_view_equal_ascii_case(component, KERNELS_VIEW("git~1"))) {
            reason = "a component is the name of git's own folder";
        } else if (++depth > KERNELS_STORE_DEPTH_LIMIT) {
            reason = "it has too many components";
        }
    }
    return reason;
}

/* ---- entries ---- */

/* Large files are known by their pointer, if what it points to was sent to this repository. */
static void recognise_pointer(kernels_repository *repository, const git_oid *oid, kernels_store_entry *entry) {
    git_blob *blob = NULL;
    if (git_blob_lookup(&blob, repository->git, oid) != 0) {
        return;
    }
    kernels_view text = {git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob)};
    char sha256[KERNELS_SHA256_HEX_SIZE];
    uint64_t announced, stored;
    if (kernels_lfs_pointer_parse(text, sha256, &announced) &&
        kernels_repository_lfs_size(repository, sha256, &stored, NULL) == KERNELS_OK && stored == announced) {
        memcpy(entry->lfs_sha256, sha256, sizeof sha256);
        entry->pointer_size = entry->size;
        entry->size = stored;
    }
    git_blob_free(blob);
}

static kernels_status measure_blob(kernels_repository *repository, const git_oid *oid, kernels_store_entry *entry,
                                   kernels_error *error) {
    git_odb *odb = NULL;
    size_t size;
    git_object_t type;
    int code = git_repository_odb(&odb, repository->git);
    if (code == 0) {
        code = git_odb_read_header(&size, &type, odb, oid);
    }
    git_odb_free(odb);
    if (code != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot read the object of %s", entry->path);
    }
    entry->size = size;
    if (size <= KERNELS_LFS_POINTER_LIMIT) {
        recognise_pointer(repository, oid, entry);
    }
    return KERNELS_OK;
}

/* Links and submodules do not exist for a client of the Hub. */
static bool is_served(const git_tree_entry *entry) {
    git_filemode_t mode = git_tree_entry_filemode(entry);
    return mode != GIT_FILEMODE_LINK && mode != GIT_FILEMODE_COMMIT;
}

static kernels_status fill_entry(kernels_repository *repository, const git_tree_entry *item, const char *path,
                                 kernels_store_entry *entry, kernels_error *error) {
    *entry = (kernels_store_entry){.path = path, .is_directory = git_tree_entry_type(item) == GIT_OBJECT_TREE};
    git_oid_tostr(entry->oid, sizeof entry->oid, git_tree_entry_id(item));
    return entry->is_directory ? KERNELS_OK : measure_blob(repository, git_tree_entry_id(item), entry, error);
}

static kernels_status entry_not_found(kernels_view path, kernels_error *error) {
    return kernels_fail(error, KERNELS_ENTRY_NOT_FOUND, "%.*s does not exist on this revision",
                        KERNELS_VIEW_ARGS(path));
}

static kernels_status load_root(kernels_repository *repository, const char *commit, git_tree **tree,
                                kernels_error *error) {
    git_commit *object = NULL;
    KERNELS_TRY(kernels_repository_load_commit(repository, commit, &object, error));
    int code = git_commit_tree(tree, object);
    git_commit_free(object);
    return code == 0 ? KERNELS_OK : kernels_store_fail(error, KERNELS_IO, "cannot read the tree of %s", commit);
}

/* The entry at a path that is not the root; *item is to be freed. */
static kernels_status find_item(git_tree *root, const char *path, git_tree_entry **item, kernels_error *error) {
    kernels_view view = kernels_view_of(path);
    int code = kernels_store_path_unsafe_reason(view) == NULL ? git_tree_entry_bypath(item, root, path) : GIT_ENOTFOUND;
    if (code == GIT_ENOTFOUND) {
        return entry_not_found(view, error);
    }
    if (code != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot look up %s", path);
    }
    if (!is_served(*item)) {
        git_tree_entry_free(*item);
        return entry_not_found(view, error);
    }
    return KERNELS_OK;
}

static kernels_status find_entry(kernels_repository *repository, git_tree *root, const char *path,
                                 kernels_store_entry *entry, kernels_error *error) {
    if (path[0] == '\0') {
        *entry = (kernels_store_entry){.path = path, .is_directory = true};
        git_oid_tostr(entry->oid, sizeof entry->oid, git_tree_id(root));
        return KERNELS_OK;
    }
    git_tree_entry *item = NULL;
    KERNELS_TRY(find_item(root, path, &item, error));
    kernels_status status = fill_entry(repository, item, path, entry, error);
    git_tree_entry_free(item);
    return status;
}

kernels_status kernels_repository_entry(kernels_repository *repository, const char *commit, kernels_view path,
                                        kernels_arena *arena, kernels_store_entry *entry, kernels_error *error) {
    const char *text = kernels_arena_copy_text(arena, path);
    git_tree *root = NULL;
    if (text == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(load_root(repository, commit, &root, error));
    kernels_status status = find_entry(repository, root, text, entry, error);
    git_tree_free(root);
    return status;
}

/* ---- listings ---- */

typedef struct walk_level {
    git_tree *tree;
    size_t next;        /* index of the entry to visit */
    size_t path_length; /* of this folder in walk.path */
} walk_level;

/* Visits a folder in the order of its tree, going down into a folder right behind its own entry. */
typedef struct walk {
    kernels_repository *repository;
    kernels_arena *arena;
    bool recursive;
    size_t skip, limit, visited;
    kernels_store_page *page;
    kernels_buffer path;
    walk_level levels[KERNELS_STORE_DEPTH_LIMIT + 1];
    size_t depth;
} walk;

static kernels_status add_to_page(walk *w, const git_tree_entry *item, kernels_error *error) {
    if (w->visited++ < w->skip) {
        return KERNELS_OK;
    }
    if (w->page->count == w->limit) {
        w->page->more = true;
        return KERNELS_OK;
    }
    const char *path = kernels_arena_copy_text(w->arena, kernels_buffer_view(&w->path));
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(fill_entry(w->repository, item, path, &w->page->entries[w->page->count], error));
    w->page->count++;
    return KERNELS_OK;
}

static kernels_status enter_folder(walk *w, const git_oid *oid, kernels_error *error) {
    if (w->depth == sizeof w->levels / sizeof w->levels[0]) {
        return kernels_fail(error, KERNELS_INTERNAL, "folders are nested deeper than %d", KERNELS_STORE_DEPTH_LIMIT);
    }
    walk_level *level = &w->levels[w->depth];
    *level = (walk_level){.path_length = w->path.size};
    if (git_tree_lookup(&level->tree, w->repository->git, oid) != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot read the folder %s", kernels_buffer_text(&w->path));
    }
    w->depth++;
    return KERNELS_OK;
}

static kernels_status visit(walk *w, const git_tree_entry *item, kernels_error *error) {
    if (!is_served(item)) {
        return KERNELS_OK;
    }
    if (w->path.size > 0) {
        kernels_buffer_add_char(&w->path, '/');
    }
    kernels_buffer_add_text(&w->path, git_tree_entry_name(item));
    KERNELS_TRY(kernels_buffer_status(&w->path, error));
    KERNELS_TRY(add_to_page(w, item, error));
    if (w->recursive && git_tree_entry_type(item) == GIT_OBJECT_TREE) {
        return enter_folder(w, git_tree_entry_id(item), error);
    }
    return KERNELS_OK;
}

static void cut_path(walk *w, size_t length) {
    if (length < w->path.size) {
        w->path.size = length;
        w->path.data[length] = '\0';
    }
}

static kernels_status run_walk(walk *w, kernels_error *error) {
    kernels_status status = KERNELS_OK;
    while (w->depth > 0 && status == KERNELS_OK && !w->page->more) {
        walk_level *level = &w->levels[w->depth - 1];
        cut_path(w, level->path_length);
        if (level->next == git_tree_entrycount(level->tree)) {
            git_tree_free(level->tree);
            w->depth--;
            continue;
        }
        status = visit(w, git_tree_entry_byindex(level->tree, level->next++), error);
    }
    while (w->depth > 0) {
        git_tree_free(w->levels[--w->depth].tree);
    }
    return status;
}

kernels_status kernels_repository_list(kernels_repository *repository, const char *commit, kernels_view path,
                                       bool recursive, size_t offset, size_t limit, kernels_arena *arena,
                                       kernels_store_page *page, kernels_error *error) {
    kernels_store_entry folder;
    git_oid oid;
    KERNELS_TRY(kernels_repository_entry(repository, commit, path, arena, &folder, error));
    if (!folder.is_directory) {
        return entry_not_found(path, error);
    }
    *page = (kernels_store_page){.entries = kernels_arena_array(arena, limit, sizeof *page->entries)};
    if (page->entries == NULL) {
        return kernels_fail_no_memory(error);
    }
    walk *w = kernels_calloc(1, sizeof *w);
    if (w == NULL) {
        return kernels_fail_no_memory(error);
    }
    *w = (walk){.repository = repository,
                .arena = arena,
                .recursive = recursive,
                .skip = offset,
                .limit = limit,
                .page = page,
                .path = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT)};
    kernels_buffer_add_view(&w->path, path);
    kernels_status status = git_oid_fromstr(&oid, folder.oid) == 0
                                ? enter_folder(w, &oid, error)
                                : kernels_store_fail(error, KERNELS_INTERNAL, "malformed object id");
    if (status == KERNELS_OK) {
        status = run_walk(w, error);
    }
    kernels_buffer_dispose(&w->path);
    kernels_free(w);
    return status;
}

/* ---- contents ---- */

struct kernels_blob_reader {
    kernels_loose_reader *loose; /* inflated as it is read */
    git_odb_object *packed;      /* as a whole */
    size_t position;             /* in packed */
};

static kernels_status open_packed(kernels_repository *repository, const char *oid, kernels_blob_reader *reader,
                                  kernels_error *error) {
    git_oid id;
    git_odb *odb = NULL;
    int code = git_oid_fromstr(&id, oid);
    if (code == 0) {
        code = git_repository_odb(&odb, repository->git);
    }
    if (code == 0) {
        code = git_odb_read(&reader->packed, odb, &id);
    }
    git_odb_free(odb);
    return code == 0 ? KERNELS_OK : kernels_store_fail(error, KERNELS_IO, "cannot read an object");
}

static kernels_status open_blob(kernels_repository *repository, const char *oid, kernels_blob_reader *reader,
                                kernels_error *error) {
    KERNELS_CLEANUP_FREE char *objects = kernels_path_join(git_repository_path(repository->git), "objects");
    if (objects == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_loose_reader_open(objects, oid, &reader->loose, error);
    if (status == KERNELS_NOT_FOUND) {
        kernels_error_dispose(error);
        return open_packed(repository, oid, reader, error);
    }
    return status;
}

static kernels_status skip_bytes(kernels_blob_reader *reader, uint64_t skip, kernels_error *error) {
    char scratch[16384];
    while (skip > 0) {
        size_t got = 0;
        size_t wanted = skip < sizeof scratch ? (size_t)skip : sizeof scratch;
        KERNELS_TRY(kernels_blob_reader_read(reader, scratch, wanted, &got, error));
        if (got == 0) {
            return kernels_fail(error, KERNELS_IO, "an object is shorter than its header says");
        }
        skip -= got;
    }
    return KERNELS_OK;
}

kernels_status kernels_blob_reader_open(kernels_repository *repository, const char *oid, uint64_t skip,
                                        kernels_blob_reader **reader, kernels_error *error) {
    if (!kernels_view_is_hex(kernels_view_of(oid), GIT_OID_HEXSZ)) {
        return kernels_fail(error, KERNELS_INTERNAL, "malformed object id");
    }
    kernels_blob_reader *opened = kernels_calloc(1, sizeof *opened);
    if (opened == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = open_blob(repository, oid, opened, error);
    if (status == KERNELS_OK) {
        status = skip_bytes(opened, skip, error);
    }
    if (status != KERNELS_OK) {
        kernels_blob_reader_close(opened);
        return status;
    }
    *reader = opened;
    return KERNELS_OK;
}

kernels_status kernels_blob_reader_read(kernels_blob_reader *reader, void *data, size_t size, size_t *got,
                                        kernels_error *error) {
    if (reader->loose != NULL) {
        return kernels_loose_reader_read(reader->loose, data, size, got, error);
    }
    size_t left = git_odb_object_size(reader->packed) - reader->position;
    *got = size < left ? size : left;
    if (*got > 0) {
        memcpy(data, (const char *)git_odb_object_data(reader->packed) + reader->position, *got);
    }
    reader->position += *got;
    return KERNELS_OK;
}

void kernels_blob_reader_close(kernels_blob_reader *reader) {
    if (reader != NULL) {
        kernels_loose_reader_close(reader->loose);
        git_odb_object_free(reader->packed);
        kernels_free(reader);
    }
}
