/*
 * The worker protocol (docs/architecture.md, "Worker protocol"): what both ends must agree on beside the
 * names of members. One JSON object a SOCK_SEQPACKET datagram.
 */
#ifndef CORE_CONTAINMENT_PROTOCOL_H
#define CORE_CONTAINMENT_PROTOCOL_H

#define WORKER_PROTOCOL 1
#define WORKER_MESSAGE_MAX 65536	/* bytes of one datagram */
#define WORKER_SPEC_MAX (4u << 20)	/* bytes of a spec's memory file */

/* The order of a run request's descriptors; the subject is left out where there is none. */
enum worker_run_descriptor { WORKER_FD_SPEC, WORKER_FD_STDOUT, WORKER_FD_STDERR, WORKER_FD_SUBJECT };
enum worker_collect_descriptor { WORKER_FD_COLLECT_SPEC, WORKER_FD_COLLECT_STREAM };

#endif
