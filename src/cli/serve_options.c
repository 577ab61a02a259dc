/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve_options.h"

const char kernels_serve_summary[] = "Serve a folder as a kernel hub of your own.";

const char kernels_serve_description[] =
    "Answers the requests of the Hub's clients from a folder of git repositories and large files. The address is the "
    "first line on standard output; clients find the server by HF_ENDPOINT. SIGTERM and SIGINT stop it after the "
    "running requests.";

const char kernels_serve_examples[] =
    "kernels serve hub --port 8080\n"
    "kernels serve hub --add-token alice\n"
    "kernels serve hub --host 0.0.0.0 --port 8443 --tls-cert hub.pem --tls-key key.pem\n"
    "HF_ENDPOINT=http://127.0.0.1:8080 kernels versions my-team/my-kernel\n";

const kernels_option kernels_serve_options[] = {
    {.name = "host",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "ADDRESS",
     .help = "Address to listen on (default 127.0.0.1). Anything but loopback needs --token."},
    {.name = "port",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .minimum = 0,
     .maximum = 65535,
     .help = "Port to listen on; 0, the default, takes any free one."},
    {.name = "token",
     .type = KERNELS_OPTION_LIST,
     .value_name = "NAME:TOKEN[:ro]",
     .help = "An account that may write, or with :ro only read. Without any, everybody may write."},
    {.name = "add-token",
     .type = KERNELS_OPTION_LIST,
     .value_name = "NAME[:ro]",
     .help = "Make a token that stays, print it and end. DIR/tokens keeps its hash; it counts from the next start on."},
    {.name = "remove-token",
     .type = KERNELS_OPTION_LIST,
     .value_name = "NAME",
     .help = "Remove the tokens of that name from DIR/tokens and end."},
    {.name = "tls-cert",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "FILE",
     .help = "Speak HTTPS with this certificate (PEM, with its chain); needs --tls-key."},
    {.name = "tls-key", .type = KERNELS_OPTION_TEXT, .value_name = "FILE", .help = "Key of the certificate (PEM)."},
    {.name = "trusted",
     .type = KERNELS_OPTION_LIST,
     .value_name = "NAME",
     .help = "A publisher whose kernels clients load without further consent."},
    {.name = "private",
     .type = KERNELS_OPTION_LIST,
     .value_name = "OWNER/NAME",
     .help = "A repository that only accounts may read."},
    {.name = "alias",
     .type = KERNELS_OPTION_LIST,
     .value_name = "OLD=NEW",
     .help = "A renamed repository: requests for OLD are redirected to NEW."},
    {.name = "check",
     .type = KERNELS_OPTION_FLAG,
     .help = "Check every repository and large file of the store, and end; exit 1 when something is wrong."},
    {.name = "read-only", .type = KERNELS_OPTION_FLAG, .help = "Refuse everything that would change the store."},
    {.name = "lfs-threshold",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "BYTES",
     .minimum = 0,
     .maximum = INT64_MAX,
     .help = "Ask clients to send files of this size as large files (default: none, for clients that use Xet)."},
    {.name = "lfs-part-size",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "BYTES",
     .minimum = 1,
     .maximum = INT64_MAX,
     .help = "Let clients send larger files in parts of this size (default 1 GiB)."},
    {.name = "timeout",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "SECONDS",
     .minimum = 1,
     .maximum = KERNELS_SERVE_TIMEOUT_MAX,
     .help = "End connections that are silent, or take so long over the head of a request or, below 1 KiB/s, over its "
             "body (default 60)."},
    {.name = "page-size",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .minimum = 1,
     .maximum = KERNELS_SERVE_PAGE_SIZE_MAX,
     .help = "Entries of one page of a listing (default 1000)."},
    {.name = "max-body",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "BYTES",
     .minimum = 1,
     .maximum = INT64_MAX,
     .help = "Largest body of one request (default 64 GiB)."},
    {.name = "cdn",
     .type = KERNELS_OPTION_FLAG,
     .help = "Answer requests for large files by a redirect to another origin, as the Hub does."},
    {.name = "faults",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "FILE",
     .help = "JSON list of faults to inject, for tests of clients."},
    {.name = "access-log", .type = KERNELS_OPTION_FLAG, .help = "Write one JSON line a request to stderr."},
    {.name = NULL},
};

const kernels_positional kernels_serve_positionals[] = {
    {.name = "DIR", .help = "Folder of the store; made when it does not exist.", .required = true},
    {.name = NULL},
};
