/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical text of metadata.json. */
#include "base/error.h"
#include "data/metadata.h"

static void write_texts(kernels_json_writer *writer, const char *key, kernels_strings texts) {
    kernels_json_key(writer, key);
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < texts.count; i++) {
        kernels_json_text(writer, texts.items[i]);
    }
    kernels_json_end_array(writer);
}

static void write_optional(kernels_json_writer *writer, const char *key, const char *text) {
    if (text) {
        kernels_json_member_text(writer, key, text);
    }
}

void kernels_dependency_write(kernels_json_writer *writer, const kernels_dependency *dependency) {
    kernels_json_begin_object(writer);
    write_optional(writer, "repo-id", dependency->repo_id);
    if (!dependency->revision) {
        kernels_json_member_unsigned(writer, "version", dependency->version);
    }
    write_optional(writer, "revision", dependency->revision);
    kernels_json_end_object(writer);
}

static void write_minver(kernels_json_writer *writer, const kernels_version *minver) {
    if (minver->count > 0) {
        char text[KERNELS_VERSION_TEXT_SIZE];
        kernels_version_print(minver, text);
        write_optional(writer, "kernels-minver", text);
    }
}

static void write_dependencies(kernels_json_writer *writer, const kernels_metadata *metadata) {
    write_texts(writer, "python-depends", metadata->python_depends);
    kernels_json_key(writer, "kernel-depends");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < metadata->kernel_depends_count; i++) {
        kernels_dependency_write(writer, &metadata->kernel_depends[i]);
    }
    kernels_json_end_array(writer);
}

static void write_backend(kernels_json_writer *writer, const kernels_metadata *metadata) {
    kernels_json_key(writer, "backend");
    kernels_json_begin_object(writer);
    write_optional(writer, "type", kernels_backend_name(metadata->backend));
    if (metadata->has_archs) {
        write_texts(writer, "archs", metadata->archs);
    }
    kernels_json_end_object(writer);
}

static void write_digest(kernels_json_writer *writer, const kernels_variant_digest *digest) {
    kernels_json_key(writer, "digest");
    kernels_json_begin_object(writer);
    write_optional(writer, "algorithm", digest->algorithm == KERNELS_DIGEST_SHA512 ? "sha512" : "sha256");
    kernels_json_key(writer, "files");
    kernels_json_begin_object(writer);
    for (size_t i = 0; i < digest->count; i++) {
        write_optional(writer, digest->files[i].path, digest->files[i].hash);
    }
    kernels_json_end_object(writer);
    kernels_json_end_object(writer);
}

static void write_status(kernels_json_writer *writer, const kernels_git_status *status) {
    if (status->commit) {
        write_optional(writer, "commit", status->commit);
        kernels_json_member_boolean(writer, "dirty", status->dirty);
    }
}

static void write_provenance(kernels_json_writer *writer, const kernels_provenance *provenance) {
    kernels_json_key(writer, "provenance");
    kernels_json_begin_object(writer);
    kernels_json_key(writer, "kernel-builder");
    kernels_json_begin_object(writer);
    write_optional(writer, "version", provenance->builder_version);
    write_status(writer, &provenance->builder);
    kernels_json_end_object(writer);
    if (provenance->kernel.commit) {
        kernels_json_key(writer, "kernel");
        kernels_json_begin_object(writer);
        write_status(writer, &provenance->kernel);
        kernels_json_end_object(writer);
    }
    kernels_json_end_object(writer);
}

static void write_metadata(kernels_json_writer *writer, const kernels_metadata *metadata) {
    kernels_json_begin_object(writer);
    write_optional(writer, "name", metadata->name);
    write_optional(writer, "id", metadata->id);
    kernels_json_member_unsigned(writer, "version", metadata->version);
    write_minver(writer, &metadata->minver);
    write_optional(writer, "license", metadata->license);
    write_optional(writer, "upstream", metadata->upstream);
    write_optional(writer, "source", metadata->source);
    write_dependencies(writer, metadata);
    write_backend(writer, metadata);
    if (metadata->has_digest) {
        write_digest(writer, &metadata->digest);
    }
    if (metadata->provenance.builder_version) {
        write_provenance(writer, &metadata->provenance);
    }
    kernels_json_end_object(writer);
}

kernels_status kernels_metadata_print(const kernels_metadata *metadata, char **text, kernels_error *error) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &out, 2, false);
    write_metadata(&writer, metadata);
    return kernels_give_text(&out, text, error);
}
