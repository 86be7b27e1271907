/* SPDX-License-Identifier: MIT */
/*
 * The server's side of rpc: reactors that read and hand over, workers that answer.
 */
#include "stress/workload/rpc.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "injectors/units.h"

#define POLLED_MAX (RPC_CLIENTS * RPC_CONNECTIONS)
#define WAIT_MS    2
#define CHUNK      4096u /* least room that a connection reads into */

/* Allocated for each connection; what was read and not yet handed over. */
struct connection {
	uint8_t *buffer;
	uint64_t used, room;
	int socket;
};

struct reactor {
	uint32_t count, next_worker;
	struct connection *connections[POLLED_MAX];
	struct pollfd polled[POLLED_MAX];
};

int rpc_reactor_prepare(struct rpc *self)
{
	self->state = hq_host_map(sizeof(struct reactor));
	return self->state == NULL ? -ENOMEM : 0;
}

static void forget(struct rpc *self, struct connection *connection)
{
	close(connection->socket);
	hq_heap_free(self->heap, connection->buffer, connection->room);
	hq_heap_free(self->heap, connection, sizeof(*connection));
}

/* Without memory for it a connection is closed at once: its client sees that and comes again. */
static void admit(struct rpc *self, int socket)
{
	struct reactor *const reactor = self->state;
	struct connection *const connection = hq_heap_alloc(self->heap, sizeof(*connection));

	if (connection == NULL || reactor->count == POLLED_MAX) {
		hq_heap_free(self->heap, connection, sizeof(*connection));
		hq_heap_missed(self->heap);
		close(socket);
		return;
	}
	*connection = (struct connection){ .socket = socket };
	reactor->polled[reactor->count] = (struct pollfd){ .fd = socket, .events = POLLIN };
	reactor->connections[reactor->count++] = connection;
}

static void look_at_doors(struct rpc *self)
{
	for (uint64_t client = 0; client < self->options->clients; client++) {
		struct rpc_door *const door = &self->shared->doors[client][self->index];
		int64_t slot;

		while ((slot = hq_ring_peek(&door->ring, RPC_NEW)) >= 0) {
			admit(self, door->sockets[slot]);
			hq_ring_taken(&door->ring);
		}
	}
}

/* The connection cannot be served without memory: its client is told, and tries again. */
static void refuse(struct rpc *self, int socket, const struct rpc_header *header)
{
	const struct rpc_header answer = { .number = header->number, .refused = 1 };

	hq_heap_missed(self->heap);
	rpc_write(socket, &answer, sizeof(answer));
}

static void hand_over(struct rpc *self, struct rpc_request *request)
{
	struct reactor *const reactor = self->state;
	const uint32_t worker = reactor->next_worker++ % (uint32_t)self->options->workers;
	struct rpc_queue *const queue = &self->shared->queues[self->index][worker];
	int64_t slot;

	/* A client waits for its reply, so there are never more than clients. */
	while ((slot = hq_ring_reserve(&queue->ring, RPC_QUEUE)) < 0 && !hq_host_stopping())
		hq_host_sleep_ns(HQ_US);
	if (slot < 0) {
		hq_heap_free(self->heap, request, rpc_size_of(request));
		return;
	}
	queue->requests[slot] = request;
	hq_ring_publish(&queue->ring);
	const uint64_t one = 1;
	const ssize_t rung = write(self->shared->bells[worker], &one, sizeof(one));

	(void)rung;
}

/* Requests that are whole become structs of their own; the rest moves to the front. */
static void take_requests(struct rpc *self, struct connection *connection)
{
	uint64_t at = 0;

	for (;;) {
		struct rpc_header header;

		if (connection->used - at < sizeof(header))
			break;
		memcpy(&header, connection->buffer + at, sizeof(header));
		if (connection->used - at < sizeof(header) + header.bytes)
			break;
		struct rpc_request *const request =
			hq_heap_alloc(self->heap, sizeof(*request) + header.bytes);

		if (request == NULL) {
			refuse(self, connection->socket, &header);
		} else {
			request->header = header;
			request->socket = connection->socket;
			memcpy(request->body, connection->buffer + at + sizeof(header),
			       header.bytes);
			hand_over(self, request);
		}
		at += sizeof(header) + header.bytes;
	}
	memmove(connection->buffer, connection->buffer + at, connection->used - at);
	connection->used -= at;
}

/* Room for a chunk at least. False: refused. */
static bool make_room(struct rpc *self, struct connection *connection)
{
	if (connection->room - connection->used >= CHUNK)
		return true;
	const uint64_t room = connection->room ? 2 * connection->room : 2 * CHUNK;
	void *const buffer = connection->buffer ? hq_heap_resize(self->heap, connection->buffer,
								 connection->room, room)
						: hq_heap_alloc(self->heap, room);

	if (buffer == NULL)
		return false;
	connection->buffer = buffer;
	connection->room = room;
	return true;
}

/* False: the connection is to be forgotten. */
static bool serve(struct rpc *self, struct connection *connection)
{
	for (;;) {
		if (!make_room(self, connection)) {
			hq_heap_missed(self->heap);
			return false;
		}
		const ssize_t got = read(connection->socket, connection->buffer + connection->used,
					 connection->room - connection->used);

		if (got < 0)
			return errno == EAGAIN || errno == EINTR;
		if (got == 0)
			return false;
		connection->used += (uint64_t)got;
		take_requests(self, connection);
	}
}

static void serve_all(struct rpc *self)
{
	struct reactor *const reactor = self->state;

	for (uint32_t i = reactor->count; i-- > 0;) {
		if (reactor->polled[i].revents == 0 || serve(self, reactor->connections[i]))
			continue;
		forget(self, reactor->connections[i]);
		reactor->connections[i] = reactor->connections[--reactor->count];
		reactor->polled[i] = reactor->polled[reactor->count];
	}
}

void rpc_reactor_run(struct rpc *self)
{
	struct reactor *const reactor = self->state;

	while (!hq_host_stopping()) {
		/* Pairs with the increment in the clients: looked at before the doors. */
		const bool last =
			hq_load_acquire(&self->shared->clients_done) == self->options->clients;

		look_at_doors(self);
		if (last && reactor->count == 0)
			break;
		if (poll(reactor->polled, reactor->count, WAIT_MS) > 0)
			serve_all(self);
		hq_heap_alive(self->heap);
	}
	/* Pairs with the acquire in the workers: what was handed over is in their queues. */
	hq_fetch_add_acq_rel(&self->shared->reactors_done, 1);
}

void rpc_reactor_release(struct rpc *self)
{
	struct reactor *const reactor = self->state;

	look_at_doors(self);
	while (reactor->count > 0)
		forget(self, reactor->connections[--reactor->count]);
}

/* ---- workers ---- */

struct worker {
	struct hq_random random;
	struct hq_block *sessions;
};

int rpc_worker_prepare(struct rpc *self)
{
	struct worker *const worker = hq_host_map(sizeof(*worker));

	if (worker == NULL)
		return -ENOMEM;
	worker->random = hq_random_stream(self->seed, self->index, 1);
	worker->sessions = hq_host_map(self->options->sessions * sizeof(*worker->sessions));
	self->state = worker;
	return worker->sessions == NULL ? -ENOMEM : 0;
}

/* Pieces of the body in blocks of their own, as a decoder makes them. False: refused. */
static bool take_apart(struct rpc *self, const struct rpc_request *request)
{
	uint8_t *fields[RPC_FIELDS] = { NULL };
	const uint64_t bytes = request->header.bytes / RPC_FIELDS + 1;
	bool fits = true;

	for (uint64_t i = 0; fits && i < RPC_FIELDS; i++) {
		const uint64_t start = i * bytes < request->header.bytes ? i * bytes : 0;
		const uint64_t left = request->header.bytes - start;

		fields[i] = hq_heap_alloc(self->heap, bytes);
		fits = fields[i] != NULL;
		if (fits)
			memcpy(fields[i], request->body + start, left < bytes ? left : bytes);
	}
	for (uint64_t i = 0; i < RPC_FIELDS; i++)
		hq_heap_free(self->heap, fields[i], bytes);
	return fits;
}

/* One session is replaced. False: refused. */
static bool remember(struct rpc *self, const struct rpc_request *request)
{
	struct worker *const worker = self->state;
	struct hq_block *const session =
		&worker->sessions[request->header.number % self->options->sessions];

	hq_block_free(self->heap, session);
	return hq_block_alloc(self->heap, session, 64 + request->header.bytes / 4);
}

static bool reply(struct rpc *self, const struct rpc_request *request)
{
	struct worker *const worker = self->state;
	const uint64_t bytes = hq_random_size(&worker->random, &self->options->reply);
	uint8_t *const payload = hq_heap_alloc(self->heap, bytes);
	struct rpc_header header = { .number = request->header.number, .bytes = (uint32_t)bytes };

	if (payload == NULL)
		return false;
	for (uint64_t i = 0; i < bytes; i++)
		payload[i] = request->body[i % request->header.bytes];
	header.sum = rpc_sum(payload, bytes);
	/* A client that is gone needs no reply. */
	if (rpc_write(request->socket, &header, sizeof(header)))
		rpc_write(request->socket, payload, bytes);
	hq_heap_free(self->heap, payload, bytes);
	return true;
}

static void answer(struct rpc *self, struct rpc_request *request)
{
	const uint64_t sum = rpc_sum(request->body, request->header.bytes);

	if (sum != request->header.sum)
		hq_heap_wrong_data(self->heap, request->body, request->header.sum, sum);
	if (!take_apart(self, request) || !remember(self, request) || !reply(self, request))
		refuse(self, request->socket, &request->header);
	hq_heap_free(self->heap, request, rpc_size_of(request));
}

/* True if there was any. */
static bool empty_queues(struct rpc *self)
{
	bool any = false;

	for (uint64_t reactor = 0; reactor < self->options->reactors; reactor++) {
		struct rpc_queue *const queue = &self->shared->queues[reactor][self->index];
		int64_t slot;

		while ((slot = hq_ring_peek(&queue->ring, RPC_QUEUE)) >= 0) {
			struct rpc_request *const request = queue->requests[slot];

			hq_ring_taken(&queue->ring);
			answer(self, request);
			any = true;
		}
	}
	return any;
}

void rpc_worker_run(struct rpc *self)
{
	const int bell = self->shared->bells[self->index];

	while (!hq_host_stopping()) {
		/* Pairs with the increment in the reactors: looked at before the queues. */
		const bool last =
			hq_load_acquire(&self->shared->reactors_done) == self->options->reactors;
		uint64_t rings;

		if (!empty_queues(self) && last)
			return;
		hq_heap_alive(self->heap);
		if (read(bell, &rings, sizeof(rings)) < 0)
			poll(&(struct pollfd){ .fd = bell, .events = POLLIN }, 1, WAIT_MS);
	}
}

void rpc_worker_release(struct rpc *self)
{
	struct worker *const worker = self->state;

	for (uint64_t reactor = 0; reactor < self->options->reactors; reactor++) {
		struct rpc_queue *const queue = &self->shared->queues[reactor][self->index];
		int64_t slot;

		while ((slot = hq_ring_peek(&queue->ring, RPC_QUEUE)) >= 0) {
			hq_heap_free(self->heap, queue->requests[slot],
				     rpc_size_of(queue->requests[slot]));
			hq_ring_taken(&queue->ring);
		}
	}
	for (uint64_t i = 0; i < self->options->sessions; i++)
		hq_block_free(self->heap, &worker->sessions[i]);
	close(self->shared->bells[self->index]);
}
