/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encode.h"
#include "base/path.h"
#include "base/view.h"
#include "server/store_internal.h"

/* Trees and commits that libgit2 keeps, of all repositories together. */
#define OBJECT_CACHE_BYTES ((ssize_t)32 * 1024 * 1024)
#define PRIVATE_KEY "kernels.private"

kernels_status kernels_store_fail(kernels_error *error, kernels_status status, const char *format, ...) {
    const git_error *last = git_error_last();
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *detail = last != NULL && last->message != NULL ? last->message : "unknown failure of libgit2";
    if (status == KERNELS_IO && strstr(detail, "No space left") != NULL) {
        status = KERNELS_NO_SPACE;
    }
    return kernels_fail(error, status, "%s: %s", text, detail);
}

/* ---- opening ---- */

static kernels_status start_git(kernels_store *store, kernels_error *error) {
    if (git_libgit2_init() < 0) {
        return kernels_store_fail(error, KERNELS_INTERNAL, "cannot start libgit2");
    }
    store->git_started = true;
    /* Nothing of the user's own configuration may change what the store does; no hook or filter ever runs. */
    static const int levels[] = {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG,
                                 GIT_CONFIG_LEVEL_GLOBAL};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
    }
    git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
    git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
    git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, OBJECT_CACHE_BYTES);
    return KERNELS_OK;
}

static kernels_status make_folders(kernels_store *store, kernels_error *error) {
    static const char *const folders[] = {"kernels", "models", "tmp"};
    static const char *const groups[] = {"lfs", "parts", NULL};
    KERNELS_TRY(kernels_make_directories(store->directory, error));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(store->directory, folders[i]);
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        KERNELS_TRY(kernels_make_directory(path, error));
    }
    store->temporary_directory = kernels_path_join(store->directory, "tmp");
    return store->temporary_directory != NULL ? kernels_storage_open(store->directory, groups, &store->storage, error)
                                              : kernels_fail_no_memory(error);
}

static kernels_status take_lock(kernels_store *store, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(store->directory, "lock");
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_file_lock_take(path, 0, &store->lock, error);
    if (status == KERNELS_TIMEOUT) {
        return kernels_fail(error, KERNELS_CONFLICT,
                            "the folder %s is already served by another process; stop that one or use another folder",
                            store->directory);
    }
    return status;
}

static kernels_status open_store(kernels_store *store, const char *directory, kernels_error *error) {
    store->directory = kernels_path_absolute(directory);
    if (store->directory == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (; store->mutex_count < KERNELS_STORE_MUTEXES; store->mutex_count++) {
        if (pthread_mutex_init(&store->mutexes[store->mutex_count], NULL) != 0) {
            return kernels_fail_no_memory(error);
        }
    }
    KERNELS_TRY(start_git(store, error));
    store->pool = kernels_pool_new();
    if (store->pool == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(make_folders(store, error));
    KERNELS_TRY(take_lock(store, error));
    return kernels_store_recover(store, error);
}

kernels_status kernels_store_open(const char *directory, kernels_store **store, kernels_error *error) {
    kernels_store *opened = kernels_calloc(1, sizeof *opened);
    if (opened == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = open_store(opened, directory, error);
    if (status != KERNELS_OK) {
        kernels_store_close(opened);
        return status;
    }
    *store = opened;
    return KERNELS_OK;
}

void kernels_store_close(kernels_store *store) {
    if (store == NULL) {
        return;
    }
    for (size_t i = 0; i < store->mutex_count; i++) {
        pthread_mutex_destroy(&store->mutexes[i]);
    }
    kernels_pool_free(store->pool);
    if (store->git_started) {
        git_libgit2_shutdown();
    }
    kernels_file_lock_release(store->lock);
    kernels_free(store->directory);
    kernels_storage_close(store->storage);
    kernels_free(store->temporary_directory);
    kernels_free(store);
}

pthread_mutex_t *kernels_store_mutex(kernels_store *store, const char *repository_path) {
    uint64_t hash = 1469598103934665603u; /* FNV-1a: any even spread will do */
    for (const char *c = repository_path; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    }
    return &store->mutexes[hash % KERNELS_STORE_MUTEXES];
}

/* ---- repositories ---- */

static const char *type_folder(kernels_repository_type type) {
    return type == KERNELS_REPOSITORY_MODEL ? "models" : "kernels";
}

char *kernels_store_repository_path(const kernels_store *store, kernels_repository_type type, kernels_view id) {
    kernels_buffer path = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&path, "%s/%s/%.*s.git", store->directory, type_folder(type), KERNELS_VIEW_ARGS(id));
    return kernels_buffer_take(&path);
}

/* What git itself brings in stays in single objects, which can be read piece by piece; packed ones cannot. */
static int configure(git_repository *git, bool is_private) {
    git_config *config = NULL;
    int code = git_repository_config(&config, git);
    if (code == 0) {
        code = git_config_set_int32(config, "transfer.unpackLimit", INT32_MAX);
    }
    if (code == 0) {
        code = git_config_set_int32(config, "gc.auto", 0);
    }
    if (code == 0 && is_private) {
        code = git_config_set_bool(config, PRIVATE_KEY, 1);
    }
    git_config_free(config);
    return code;
}

static kernels_status fill_new_repository(const char *path, bool is_private, kernels_error *error) {
    git_repository_init_options options;
    git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
    options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT | GIT_REPOSITORY_INIT_MKDIR;
    options.initial_head = "main";
    git_repository *git = NULL;
    if (git_repository_init_ext(&git, path, &options) != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot make the repository %s", path);
    }
    kernels_status status = kernels_store_first_commit(git, error);
    if (status == KERNELS_OK && configure(git, is_private) != 0) {
        status = kernels_store_fail(error, KERNELS_IO, "cannot configure the repository %s", path);
    }
    git_repository_free(git);
    return status;
}

/* A folder below DIR/tmp that nobody else uses. */
static kernels_status temporary_path(const kernels_store *store, char **path, kernels_error *error) {
    char name[17];
    KERNELS_TRY(kernels_random_hex(name, 16, error));
    *path = kernels_path_join(store->temporary_directory, name);
    return *path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* The finished repository gets its name in one step, so that a killed server leaves all of it or nothing. */
static kernels_status publish_repository(kernels_store *store, const char *temporary, const char *path,
                                         kernels_error *error) {
    KERNELS_CLEANUP_FREE char *parent = kernels_path_parent(path);
    if (parent == NULL) {
        return kernels_fail_no_memory(error);
    }
    pthread_mutex_t *mutex = kernels_store_mutex(store, path);
    pthread_mutex_lock(mutex);
    kernels_status status = KERNELS_OK;
    if (kernels_file_exists(path)) {
        status = kernels_fail(error, KERNELS_ALREADY_EXISTS, "You already created this repo");
    }
    if (status == KERNELS_OK) {
        status = kernels_make_directories(parent, error);
    }
    if (status == KERNELS_OK) {
        status = kernels_rename(temporary, path, error);
    }
    pthread_mutex_unlock(mutex);
    return status;
}

kernels_status kernels_store_create_repository(kernels_store *store, kernels_repository_type type, kernels_view id,
                                               bool is_private, kernels_error *error) {
    KERNELS_TRY(kernels_repository_id_check(id, error));
    KERNELS_CLEANUP_FREE char *path = kernels_store_repository_path(store, type, id);
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (kernels_file_exists(path)) {
        return kernels_fail(error, KERNELS_ALREADY_EXISTS, "You already created this repo");
    }
    KERNELS_CLEANUP_FREE char *temporary = NULL;
    KERNELS_TRY(temporary_path(store, &temporary, error));
    kernels_status status = fill_new_repository(temporary, is_private, error);
    if (status == KERNELS_OK) {
        status = publish_repository(store, temporary, path, error);
    }
    if (status != KERNELS_OK) {
        kernels_remove_tree(temporary, NULL);
    }
    return status;
}

kernels_status kernels_store_delete_repository(kernels_store *store, kernels_repository_type type, kernels_view id,
                                               kernels_error *error) {
    KERNELS_TRY(kernels_repository_id_check(id, error));
    KERNELS_CLEANUP_FREE char *path = kernels_store_repository_path(store, type, id);
    KERNELS_CLEANUP_FREE char *temporary = NULL;
    KERNELS_TRY(temporary_path(store, &temporary, error));
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    pthread_mutex_t *mutex = kernels_store_mutex(store, path);
    pthread_mutex_lock(mutex);
    kernels_status status = kernels_file_is_directory(path)
                                ? kernels_rename(path, temporary, error)
                                : kernels_fail(error, KERNELS_REPOSITORY_NOT_FOUND, "Repository not found");
    pthread_mutex_unlock(mutex);
    kernels_pool_forget(store->pool);
    return status == KERNELS_OK ? kernels_remove_tree(temporary, error) : status;
}

typedef struct id_list {
    kernels_arena *arena;
    const char **ids;
    size_t count;
} id_list;

/* Repositories directly in `directory` and, with an empty owner, in the owners' folders below it. */
static kernels_status collect_ids(const char *directory, const char *owner, id_list *list, kernels_error *error) {
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(directory, KERNELS_LIST_CHILDREN, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        const char *name = listing.entries[i].path;
        kernels_view view = kernels_view_of(name);
        if (listing.entries[i].type != KERNELS_ENTRY_DIRECTORY) {
            continue;
        }
        if (!kernels_view_ends_with(view, KERNELS_VIEW(".git"))) {
            KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, name);
            if (path == NULL) {
                status = kernels_fail_no_memory(error);
            } else if (owner[0] == '\0') {
                status = collect_ids(path, name, list, error); /* one level, not on input depth */
            }
            continue;
        }
        const char *id = kernels_arena_printf(list->arena, "%s%s%.*s", owner, owner[0] != '\0' ? "/" : "",
                                              KERNELS_VIEW_ARGS(kernels_view_slice(view, 0, view.size - 4)));
        if (id == NULL) {
            status = kernels_fail_no_memory(error);
        } else if (list->count == KERNELS_STORE_REPOSITORIES_LIMIT) {
            status = kernels_fail(error, KERNELS_LIMIT, "the store has more than %zu repositories",
                                  KERNELS_STORE_REPOSITORIES_LIMIT);
        } else {
            list->ids[list->count++] = id;
        }
    }
    kernels_listing_dispose(&listing);
    return status;
}

kernels_status kernels_store_repositories(const kernels_store *store, kernels_repository_type type,
                                          kernels_arena *arena, const char ***ids, size_t *count,
                                          kernels_error *error) {
    KERNELS_CLEANUP_FREE char *directory = kernels_path_join(store->directory, type_folder(type));
    id_list list = {.arena = arena,
                    .ids = kernels_arena_array(arena, KERNELS_STORE_REPOSITORIES_LIMIT, sizeof *list.ids)};
    if (directory == NULL || list.ids == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(collect_ids(directory, "", &list, error));
    qsort(list.ids, list.count, sizeof *list.ids, kernels_compare_texts);
    *ids = list.ids;
    *count = list.count;
    return KERNELS_OK;
}

bool kernels_store_has_owner(const kernels_store *store, kernels_view owner) {
    if (kernels_repository_id_check(owner, NULL) != KERNELS_OK || kernels_view_find(owner, '/') != SIZE_MAX) {
        return false;
    }
    bool found = false;
    for (int type = 0; type < 2 && !found; type++) {
        kernels_buffer path = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
        kernels_buffer_printf(&path, "%s/%s/%.*s", store->directory, type_folder((kernels_repository_type)type),
                              KERNELS_VIEW_ARGS(owner));
        found = kernels_file_is_directory(kernels_buffer_text(&path));
        kernels_buffer_dispose(&path);
    }
    return found;
}

static kernels_status open_git(kernels_repository *repository, kernels_error *error) {
    int code = GIT_ENOTFOUND;
    if (kernels_file_is_directory(repository->path)) {
        repository->git = kernels_pool_take(repository->store->pool, repository->path, &repository->generation);
        code = repository->git != NULL ? 0 : git_repository_open_bare(&repository->git, repository->path);
    }
    if (code == GIT_ENOTFOUND) {
        return kernels_fail(error, KERNELS_REPOSITORY_NOT_FOUND, "Repository not found");
    }
    return code == 0 ? KERNELS_OK
                     : kernels_store_fail(error, KERNELS_IO, "cannot open the repository %s", repository->path);
}

kernels_status kernels_repository_open(kernels_store *store, kernels_repository_type type, kernels_view id,
                                       kernels_repository **repository, kernels_error *error) {
    if (kernels_repository_id_check(id, NULL) != KERNELS_OK) {
        return kernels_fail(error, KERNELS_REPOSITORY_NOT_FOUND, "Repository not found");
    }
    kernels_repository *opened = kernels_calloc(1, sizeof *opened);
    char *path = kernels_store_repository_path(store, type, id);
    if (path == NULL || opened == NULL) {
        kernels_free(path);
        kernels_free(opened);
        return kernels_fail_no_memory(error);
    }
    *opened = (kernels_repository){.store = store, .path = path, .mutex = kernels_store_mutex(store, path)};
    kernels_status status = open_git(opened, error);
    if (status != KERNELS_OK) {
        kernels_free(path);
        kernels_free(opened);
        return status;
    }
    *repository = opened;
    return KERNELS_OK;
}

void kernels_repository_close(kernels_repository *repository) {
    if (repository != NULL) {
        kernels_pool_give(repository->store->pool, repository->path, repository->git, repository->generation);
        kernels_free(repository);
    }
}

bool kernels_repository_is_private(const kernels_repository *repository) {
    git_config *config = NULL;
    int value = 0;
    /* an unreadable configuration hides the repository rather than opening it */
    bool is_private = git_repository_config_snapshot(&config, repository->git) != 0;
    if (!is_private && git_config_get_bool(&value, config, PRIVATE_KEY) == 0) {
        is_private = value != 0;
    }
    git_config_free(config);
    return is_private;
}
