/* SPDX-License-Identifier: MIT */
/*
 * Remote procedure calls over socket pairs, closed or open loop: the memory of a server whose
 * requests come in on one thread and are answered on another. This file has the options, gives each
 * thread its role and moves bytes; rpc.h says how the roles work together.
 */
#include "stress/workload/rpc.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stress/workload/table.h"

#define WAIT_MS 20 /* between two looks whether the run ends */

#define AT(field) offsetof(struct rpc_options, field)

static const struct hq_option options[] = {
	{ "clients", HQ_OPTION_COUNT, AT(clients), "2", 1, RPC_CLIENTS, NULL,
	  "threads that send requests" },
	{ "reactors", HQ_OPTION_COUNT, AT(reactors), "1", 1, RPC_SERVERS, NULL,
	  "threads that read them" },
	{ "workers", HQ_OPTION_COUNT, AT(workers), "2", 1, RPC_SERVERS, NULL,
	  "threads that answer them" },
	{ "requests", HQ_OPTION_COUNT, AT(requests), "20k", 1, 1000000000000, NULL,
	  "requests of each client" },
	{ "connections", HQ_OPTION_COUNT, AT(connections), "8", 1, RPC_CONNECTIONS, NULL,
	  "connections that each client keeps" },
	{ "reconnect", HQ_OPTION_COUNT, AT(reconnect), "500", 1, 1000000000000, NULL,
	  "requests after which a client makes one of its connections anew" },
	{ "sessions", HQ_OPTION_COUNT, AT(sessions), "4k", 1, 100000000, NULL,
	  "blocks that each worker remembers" },
	{ "body", HQ_OPTION_SIZES, AT(body), "32B..8KiB log", 1, 1u << 20, NULL,
	  "bytes of a request" },
	{ "reply", HQ_OPTION_SIZES, AT(reply), "16B..4KiB log", 1, 1u << 20, NULL,
	  "bytes of a reply" },
	HQ_ARRIVALS_OPTIONS(struct rpc_options, arrivals, "2k/s",
			    "requests of each client, for constant and poisson"),
	{ .name = NULL },
};

static int rpc_validate(const void *values, struct hq_error *error)
{
	const struct rpc_options *const chosen = values;

	if (chosen->clients + chosen->reactors + chosen->workers > HQ_WIRE_WORKERS)
		return hq_error_set(error,
				    "clients, reactors and workers together are more than %u",
				    HQ_WIRE_WORKERS);
	return hq_arrivals_validate(&chosen->arrivals, error);
}

static uint32_t rpc_threads(const void *values)
{
	const struct rpc_options *const chosen = values;

	return (uint32_t)(chosen->clients + chosen->reactors + chosen->workers);
}

struct role {
	int (*prepare)(struct rpc *self);
	void (*run)(struct rpc *self);
	void (*release)(struct rpc *self);
	uint32_t index;
};

static struct role role_of(const struct rpc_options *chosen, uint32_t thread)
{
	const uint32_t clients = (uint32_t)chosen->clients, reactors = (uint32_t)chosen->reactors;

	if (thread < clients)
		return (struct role){ rpc_client_prepare, rpc_client_run, rpc_client_release,
				      thread };
	if (thread < clients + reactors)
		return (struct role){ rpc_reactor_prepare, rpc_reactor_run, rpc_reactor_release,
				      thread - clients };
	return (struct role){ rpc_worker_prepare, rpc_worker_run, rpc_worker_release,
			      thread - clients - reactors };
}

static int rpc_prepare(struct hq_work *work)
{
	const struct rpc_options *const chosen = work->options;
	struct rpc_shared *const shared = hq_host_map(sizeof(*shared));
	struct rpc *const threads = hq_host_map(work->thread_count * sizeof(*threads));
	int status = 0;

	if (shared == NULL || threads == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < chosen->workers; i++) {
		shared->bells[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (shared->bells[i] < 0)
			return -errno;
	}
	for (uint32_t i = 0; status == 0 && i < work->thread_count; i++) {
		const struct role role = role_of(chosen, i);

		threads[i] = (struct rpc){
			.options = chosen, .shared = shared, .seed = work->seed, .index = role.index
		};
		status = role.prepare(&threads[i]);
	}
	work->shared = threads;
	return status;
}

static void rpc_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct rpc *const self = &((struct rpc *)work->shared)[thread];

	self->heap = heap;
	role_of(work->options, thread).run(self);
}

static void rpc_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct rpc *const self = &((struct rpc *)work->shared)[thread];

	self->heap = heap;
	role_of(work->options, thread).release(self);
}

/* ---- bytes ---- */

uint64_t rpc_sum(const uint8_t *bytes, uint64_t count)
{
	uint64_t sum = count;

	for (uint64_t i = 0; i < count; i++)
		sum = sum * 0x100000001b3ull + bytes[i];
	return sum;
}

bool rpc_write(int socket, const void *data, uint64_t bytes)
{
	const uint8_t *at = data;

	while (bytes != 0) {
		const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN && !hq_host_stopping()) {
			poll(&(struct pollfd){ .fd = socket, .events = POLLOUT }, 1, WAIT_MS);
			continue;
		}
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		at += sent;
		bytes -= (uint64_t)sent;
	}
	return true;
}

bool rpc_read(struct rpc *self, int socket, void *data, uint64_t bytes)
{
	uint8_t *at = data;

	while (bytes != 0) {
		const ssize_t got = recv(socket, at, bytes, 0);

		if (got < 0 && errno == EAGAIN && !hq_host_stopping()) {
			poll(&(struct pollfd){ .fd = socket, .events = POLLIN }, 1, WAIT_MS);
			hq_heap_alive(self->heap);
			continue;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		bytes -= (uint64_t)got;
	}
	return true;
}

const struct hq_workload hq_workload_rpc = {
	.name = "rpc",
	.help = "requests over sockets, read on one thread and answered on another",
	.options = options,
	.options_size = sizeof(struct rpc_options),
	.validate = rpc_validate,
	.threads = rpc_threads,
	.prepare = rpc_prepare,
	.run = rpc_run,
	.release = rpc_release,
};
