/* SPDX-License-Identifier: Apache-2.0 */
#include "server/faults.h"

#include <pthread.h>
#include <strings.h>

#include "base/document.h"
#include "base/error.h"
#include "base/view.h"

struct kernels_fault_rule {
    kernels_view path;
    kernels_view method; /* data NULL: any */
    uint64_t times_left; /* UINT64_MAX: for ever */
    unsigned status;     /* 0 = that of the answer */
    unsigned delay_ms;
    uint64_t truncate; /* UINT64_MAX: not */
    bool drop;
    const kernels_node *headers; /* object, or NULL */
    kernels_view body;           /* data NULL: that of the answer */
};

struct kernels_faults {
    kernels_document document;
    kernels_fault_rule *rules;
    size_t count;
    pthread_mutex_t mutex; /* around times_left */
};

/* ---- reading ---- */

static kernels_status wrong(const char *file, size_t index, const char *expected, kernels_error *error) {
    return kernels_fail(error, KERNELS_SCHEMA, "%s: fault %zu: expected %s", file, index, expected);
}

/* A number from 0 to limit, or `fallback` when absent; false when it is something else. */
static bool read_number(const kernels_node *fault, const char *key, uint64_t limit, uint64_t fallback,
                        uint64_t *value) {
    const kernels_node *node = kernels_node_find(fault, key);
    *value = fallback;
    if (node == NULL) {
        return true;
    }
    if (!kernels_node_is(node, KERNELS_NODE_UNSIGNED) || node->as.unsigned_value > limit) {
        return false;
    }
    *value = node->as.unsigned_value;
    return true;
}

static bool headers_are_valid(const kernels_node *headers) {
    for (size_t i = 0; headers != NULL && i < headers->count; i++) {
        const kernels_node *value = headers->as.members[i].value;
        if (!kernels_node_is(value, KERNELS_NODE_STRING) && !kernels_node_is(value, KERNELS_NODE_NULL)) {
            return false;
        }
    }
    return true;
}

static bool is_optional(const kernels_node *node, kernels_node_type type) {
    return node == NULL || kernels_node_is(node, type);
}

static kernels_status read_rule(const char *file, size_t index, const kernels_node *fault, kernels_fault_rule *rule,
                                kernels_error *error) {
    uint64_t status, delay;
    const kernels_node *method = kernels_node_find(fault, "method"), *drop = kernels_node_find(fault, "drop"),
                       *headers = kernels_node_find(fault, "headers"), *body = kernels_node_find(fault, "body");
    rule->path = kernels_node_text(kernels_node_find(fault, "path"));
    if (rule->path.data == NULL) {
        return wrong(file, index, "an object with a text \"path\"", error);
    }
    if (!read_number(fault, "times", UINT64_MAX - 1, UINT64_MAX, &rule->times_left) ||
        !read_number(fault, "truncate", UINT64_MAX - 1, UINT64_MAX, &rule->truncate) ||
        !read_number(fault, "status", 599, 0, &status) || (status != 0 && status < 200) ||
        !read_number(fault, "delay_ms", KERNELS_FAULT_DELAY_LIMIT, 0, &delay)) {
        return wrong(file, index, "whole numbers for \"times\", \"truncate\", \"status\" (200 to 599) and \"delay_ms\"",
                     error);
    }
    if (!is_optional(method, KERNELS_NODE_STRING) || !is_optional(drop, KERNELS_NODE_BOOLEAN) ||
        !is_optional(headers, KERNELS_NODE_OBJECT) || !is_optional(body, KERNELS_NODE_STRING) ||
        !headers_are_valid(headers)) {
        return wrong(file, index,
                     "text for \"method\" and \"body\", true or false for \"drop\", an object of texts "
                     "and nulls for \"headers\"",
                     error);
    }
    rule->method = kernels_node_text(method);
    rule->body = kernels_node_text(body);
    rule->headers = headers;
    rule->drop = drop != NULL && drop->as.boolean;
    rule->status = (unsigned)status;
    rule->delay_ms = (unsigned)delay;
    return KERNELS_OK;
}

static kernels_status read_rules(const char *path, kernels_faults *faults, kernels_error *error) {
    KERNELS_TRY(kernels_json_read_file(path, KERNELS_FAULTS_FILE_LIMIT, &faults->document, error));
    const kernels_node *root = faults->document.root;
    if (!kernels_node_is(root, KERNELS_NODE_ARRAY) || root->count > KERNELS_FAULTS_LIMIT) {
        return kernels_fail(error, KERNELS_SCHEMA, "%s: expected a list of at most %d faults", path,
                            KERNELS_FAULTS_LIMIT);
    }
    faults->rules = kernels_calloc(root->count + 1, sizeof *faults->rules);
    if (faults->rules == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (; faults->count < root->count; faults->count++) {
        KERNELS_TRY(
            read_rule(path, faults->count, root->as.items[faults->count], &faults->rules[faults->count], error));
    }
    return KERNELS_OK;
}

kernels_status kernels_faults_read(const char *path, kernels_faults **faults, kernels_error *error) {
    kernels_faults *made = kernels_calloc(1, sizeof *made);
    if (made == NULL || pthread_mutex_init(&made->mutex, NULL) != 0) {
        kernels_free(made);
        return kernels_fail_no_memory(error);
    }
    kernels_status status = read_rules(path, made, error);
    if (status != KERNELS_OK) {
        kernels_faults_free(made);
        return status;
    }
    *faults = made;
    return KERNELS_OK;
}

void kernels_faults_free(kernels_faults *faults) {
    if (faults != NULL) {
        pthread_mutex_destroy(&faults->mutex);
        kernels_document_dispose(&faults->document);
        kernels_free(faults->rules);
        kernels_free(faults);
    }
}

/* ---- using ---- */

const kernels_fault_rule *kernels_faults_find(kernels_faults *faults, kernels_view method, kernels_view path) {
    const kernels_fault_rule *found = NULL;
    if (faults == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&faults->mutex);
    for (size_t i = 0; i < faults->count && found == NULL; i++) {
        kernels_fault_rule *rule = &faults->rules[i];
        if (rule->times_left > 0 && kernels_view_starts_with(path, rule->path) &&
            (rule->method.data == NULL || kernels_view_equal(rule->method, method))) {
            rule->times_left -= rule->times_left == UINT64_MAX ? 0 : 1;
            found = rule;
        }
    }
    pthread_mutex_unlock(&faults->mutex);
    return found;
}

bool kernels_fault_replaces_answer(const kernels_fault_rule *rule) { return rule->status != 0 || rule->drop; }

static void apply_headers(const kernels_fault_rule *rule, kernels_response *response) {
    for (size_t i = 0; rule->headers != NULL && i < rule->headers->count; i++) {
        const kernels_member *member = &rule->headers->as.members[i];
        const char *name = kernels_arena_copy_text(response->arena, member->key);
        kernels_view text = kernels_node_text(member->value);
        const char *value = text.data != NULL ? kernels_arena_copy_text(response->arena, text) : NULL;
        uint64_t size;
        if (name != NULL && strcasecmp(name, "Content-Length") == 0 && kernels_view_to_u64(text, &size)) {
            response->announced_size = size;
        } else if (name != NULL) {
            kernels_response_set_header(response, name, value);
        }
    }
}

void kernels_fault_apply(const kernels_fault_rule *rule, kernels_response *response) {
    if (rule->status != 0) {
        const kernels_error error = {
            .status = KERNELS_INTERNAL, .http_status = (int)rule->status, .message = (char[]){"injected fault"}};
        kernels_response_fail(response, &error);
    }
    if (rule->body.data != NULL) {
        kernels_response_dispose(response);
        kernels_buffer_add_view(&response->text, rule->body);
    }
    apply_headers(rule, response);
    response->send_at_most = rule->truncate;
    response->delay_ms = rule->delay_ms;
    response->drop = rule->drop;
}
