/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/view.h"
#include "server/api.h"

kernels_status kernels_api_whoami(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_json_writer json;
    if (request->account == NULL) {
        return kernels_fail(error, KERNELS_AUTHENTICATION, "Invalid username or password.");
    }
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    kernels_json_member_text(&json, "type", "user");
    kernels_json_member_text(&json, "id", request->account->name);
    kernels_json_member_text(&json, "name", request->account->name);
    kernels_json_member_text(&json, "fullname", request->account->name);
    kernels_json_key(&json, "orgs");
    kernels_json_begin_array(&json);
    kernels_json_end_array(&json);
    kernels_json_key(&json, "auth");
    kernels_json_begin_object(&json);
    kernels_json_member_text(&json, "type", "access_token");
    kernels_json_key(&json, "accessToken");
    kernels_json_begin_object(&json);
    kernels_json_member_text(&json, "displayName", request->account->name);
    kernels_json_member_text(&json, "role", request->account->can_write ? "write" : "read");
    kernels_json_end_object(&json);
    kernels_json_end_object(&json);
    kernels_json_end_object(&json);
    return KERNELS_OK;
}

bool kernels_service_trusts(const kernels_service *service, kernels_view name) {
    for (size_t i = 0; i < service->trusted_count; i++) {
        if (kernels_view_equal_text(name, service->trusted[i])) {
            return true;
        }
    }
    return false;
}

kernels_status kernels_api_organization(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_json_writer json;
    kernels_view name = request->route.name;
    bool trusted = kernels_service_trusts(request->service, name);
    bool is_user = kernels_auth_has_account(request->service->auth, name);
    if (!trusted && (is_user || !kernels_store_has_owner(request->service->store, name))) {
        return kernels_fail(error, KERNELS_NOT_FOUND, "Organization not found");
    }
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    kernels_json_member_view(&json, "name", name);
    kernels_json_member_view(&json, "fullname", name);
    kernels_json_member_text(&json, "avatarUrl", "");
    if (trusted) {
        kernels_json_member_boolean(&json, "trustedKernelPublisher", true);
    }
    kernels_json_end_object(&json);
    return KERNELS_OK;
}

/* The client asks before it commits a README.md; any text is fine for us. */
kernels_status kernels_api_validate_yaml(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_json_writer json;
    (void)request;
    (void)error;
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    kernels_json_key(&json, "errors");
    kernels_json_begin_array(&json);
    kernels_json_end_array(&json);
    kernels_json_key(&json, "warnings");
    kernels_json_begin_array(&json);
    kernels_json_end_array(&json);
    kernels_json_end_object(&json);
    return KERNELS_OK;
}
