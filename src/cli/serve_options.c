/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve_options.h"

#define PORT_MAX 65535
#define PAGE_SIZE_MAX 100000

const char kernels_serve_summary[] = "Serve a folder of kernels as a Hub on this machine.";

const char kernels_serve_description[] =
    "Answers the requests of the Kernel Hub over a folder that holds git repositories and large files. Everything "
    "that\n"
    "talks to the Hub works against it: set HF_ENDPOINT to the URL that is printed as the first line once it listens.\n"
    "It ends on Ctrl-C.";

const char kernels_serve_examples[] = "kernels serve ./hub --port 8080 --trusted acme\n"
                                      "kernels serve ./hub --token me:secret --token ci:other:ro\n";

const kernels_option kernels_serve_options[] = {
    {.name = "host",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "ADDRESS",
     .exact_name = true,
     .help = "Address to listen on (default: 127.0.0.1)."},
    {.name = "port",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .exact_name = true,
     .maximum = PORT_MAX,
     .help = "Port to listen on; 0 takes a free one (default: 0)."},
    {.name = "token",
     .type = KERNELS_OPTION_LIST,
     .value_name = "NAME:TOKEN[:ro]",
     .exact_name = true,
     .help = "An account and its token, with :ro for reading only (repeatable; default: writing needs no token)."},
    {.name = "trusted",
     .type = KERNELS_OPTION_LIST,
     .value_name = "NAME",
     .exact_name = true,
     .help = "A publisher whose kernels load without trust_remote_code (repeatable)."},
    {.name = "private",
     .type = KERNELS_OPTION_LIST,
     .value_name = "OWNER/NAME",
     .exact_name = true,
     .help = "A repository that only accounts may read (repeatable)."},
    {.name = "read-only", .type = KERNELS_OPTION_FLAG, .exact_name = true, .help = "Refuse everything that writes."},
    {.name = "lfs-threshold",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "BYTES",
     .exact_name = true,
     .maximum = INT64_MAX,
     .help = "Ask clients to upload files of this size or more as large files (default: never)."},
    {.name = "page-size",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .exact_name = true,
     .minimum = 1,
     .maximum = PAGE_SIZE_MAX,
     .help = "Most entries on one page of a listing (default: 1000)."},
    {.name = "max-body",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "BYTES",
     .exact_name = true,
     .minimum = 1,
     .maximum = INT64_MAX,
     .help = "Most bytes of one request (default: 1 TiB for large files, 1 GiB for others)."},
    {.name = "cdn",
     .type = KERNELS_OPTION_FLAG,
     .exact_name = true,
     .help = "Redirect downloads of large files to another origin, as the real Hub does."},
    {.name = "faults",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "FILE",
     .exact_name = true,
     .help = "JSON list of faults to inject, for tests."},
    {0},
};

const kernels_positional kernels_serve_positionals[] = {
    {.name = "DIR", .help = "Folder that holds everything; made when absent.", .required = true},
    {0},
};
