/* SPDX-License-Identifier: MIT */
/*
 * The workload rpc from the inside. Nouns:
 *
 *   client      sends requests over its connections and waits for each reply
 *   connection  one end of a socket pair; the other is its client's
 *   reactor     reads requests from its connections, makes a struct of each, hands it to a worker
 *   worker      answers: takes the request apart, changes its session, builds and sends the reply
 *   session     what a worker remembers: blocks that live long among many that do not
 *
 * A request is allocated by a reactor and freed by a worker, a session by the worker alone, buffers
 * of a client by the client. Connections come from the clients, which close them as well, when they
 * wait for no reply.
 *
 * Who ends first: a client when it has had its replies; a reactor when all clients have ended and
 * its connections are closed; a worker when all reactors have ended and its queues are empty.
 */
#ifndef HQ_STRESS_WORKLOAD_RPC_H
#define HQ_STRESS_WORKLOAD_RPC_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/atomic.h"
#include "injectors/option.h"
#include "injectors/ring.h"
#include "stress/workload/arrivals.h"
#include "stress/workload/heap.h"
#include "stress/workload/workload.h"

#define RPC_CLIENTS     32u
#define RPC_SERVERS     16u /* reactors, and workers */
#define RPC_QUEUE       1024u
#define RPC_CONNECTIONS 64u /* of one client */
#define RPC_NEW         128u
#define RPC_FIELDS      8u

struct rpc_options {
	uint64_t clients, reactors, workers;
	uint64_t requests;
	uint64_t connections;
	uint64_t reconnect;
	uint64_t sessions;
	struct hq_sizes body, reply;
	struct hq_arrivals_options arrivals;
};

/* On the wire before the bytes; both ways. */
struct rpc_header {
	uint64_t number;
	uint64_t sum; /* of the bytes that follow */
	uint32_t bytes;
	uint32_t refused; /* of a reply: there was no memory to answer */
};

struct rpc_request {
	struct rpc_header header;
	int socket;
	uint32_t reserved;
	uint8_t body[];
};

/* From one reactor to one worker. */
struct rpc_queue {
	struct hq_ring ring;
	struct rpc_request *requests[RPC_QUEUE];
};

/* New connections from one client to one reactor. */
struct rpc_door {
	struct hq_ring ring;
	int sockets[RPC_NEW];
};

struct rpc_shared {
	struct rpc_queue queues[RPC_SERVERS][RPC_SERVERS]; /* reactor, worker */
	struct rpc_door doors[RPC_CLIENTS][RPC_SERVERS];   /* client, reactor */
	int bells[RPC_SERVERS];                            /* event descriptors of the workers */
	_Atomic uint32_t clients_done, reactors_done;
};

/* One thread's view. */
struct rpc {
	const struct rpc_options *options;
	struct rpc_shared *shared;
	struct hq_heap *heap;
	uint64_t seed;
	uint32_t index; /* within its role */
	uint32_t reserved;
	void *state; /* of the role, host memory */
};

static inline uint64_t rpc_size_of(const struct rpc_request *request)
{
	return sizeof(*request) + request->header.bytes;
}

uint64_t rpc_sum(const uint8_t *bytes, uint64_t count);
/* Writes or reads all of it, whatever the socket takes at a time. False: it was closed, or the run
 * ends. */
bool rpc_write(int socket, const void *data, uint64_t bytes);
bool rpc_read(struct rpc *self, int socket, void *data, uint64_t bytes);

int rpc_client_prepare(struct rpc *self);
void rpc_client_run(struct rpc *self);
void rpc_client_release(struct rpc *self);
int rpc_reactor_prepare(struct rpc *self);
void rpc_reactor_run(struct rpc *self);
void rpc_reactor_release(struct rpc *self);
int rpc_worker_prepare(struct rpc *self);
void rpc_worker_run(struct rpc *self);
void rpc_worker_release(struct rpc *self);

#endif
