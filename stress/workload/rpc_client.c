/* SPDX-License-Identifier: MIT */
/*
 * Clients of rpc. One sends a request when it is due, waits for its reply and checks it.
 */
#include "stress/workload/rpc.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/units.h"

struct client {
	int sockets[RPC_CONNECTIONS]; /* our ends; 0: none */
	struct hq_random random;
	struct hq_arrivals arrivals;
};

int rpc_client_prepare(struct rpc *self)
{
	struct client *const client = hq_host_map(sizeof(*client));

	if (client == NULL)
		return -ENOMEM;
	client->random = hq_random_stream(self->seed, self->index, 0);
	hq_arrivals_start(&client->arrivals, &self->options->arrivals, self->seed, self->index);
	self->state = client;
	return 0;
}

/* Makes a pair, keeps one end and gives the other one to a reactor. */
static bool open_connection(struct rpc *self, uint64_t index)
{
	struct client *const client = self->state;
	const uint32_t reactor = (uint32_t)(index % self->options->reactors);
	struct rpc_door *const door = &self->shared->doors[self->index][reactor];
	int ends[2];

	if (client->sockets[index] != 0)
		return true;
	const int64_t slot = hq_ring_reserve(&door->ring, RPC_NEW);

	if (slot < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return false;
	client->sockets[index] = ends[0];
	door->sockets[slot] = ends[1];
	hq_ring_publish(&door->ring);
	return true;
}

static void close_connection(struct client *client, uint64_t index)
{
	if (client->sockets[index] != 0)
		close(client->sockets[index]);
	client->sockets[index] = 0;
}

/* Fills what is sent with something that can be checked. */
static void fill(uint8_t *bytes, uint64_t count, uint64_t number)
{
	for (uint64_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)((number + i) * 0x9e3779b97f4a7c15ull >> 56);
}

/* The bytes of a reply, read into a buffer of its own and checked. */
static bool read_reply(struct rpc *self, int socket, const struct rpc_header *header)
{
	uint8_t *const bytes = hq_heap_alloc(self->heap, header->bytes);
	uint8_t dropped[256];
	uint64_t left = header->bytes;

	if (bytes != NULL) {
		const bool whole = rpc_read(self, socket, bytes, header->bytes);
		const uint64_t sum = whole ? rpc_sum(bytes, header->bytes) : header->sum;

		if (sum != header->sum)
			hq_heap_wrong_data(self->heap, bytes, header->sum, sum);
		hq_heap_free(self->heap, bytes, header->bytes);
		return whole;
	}
	hq_heap_missed(self->heap);
	while (left != 0) {
		const uint64_t some = left < sizeof(dropped) ? left : sizeof(dropped);

		if (!rpc_read(self, socket, dropped, some))
			return false;
		left -= some;
	}
	return true;
}

/* False: the connection is of no more use. */
static bool await_reply(struct rpc *self, int socket, uint64_t number)
{
	struct rpc_header header;

	if (!rpc_read(self, socket, &header, sizeof(header)))
		return false;
	if (header.number != number)
		hq_heap_wrong_data(self->heap, &header, number, header.number);
	if (header.refused) {
		hq_heap_missed(self->heap);
		return true;
	}
	return read_reply(self, socket, &header);
}

/* A request and its reply. False: the connection is of no more use. */
static bool exchange(struct rpc *self, int socket, uint64_t number, uint64_t bytes)
{
	uint8_t *const body = hq_heap_alloc(self->heap, bytes);
	struct rpc_header header = { .number = number, .bytes = (uint32_t)bytes };

	if (body == NULL) {
		hq_heap_missed(self->heap);
		return true;
	}
	fill(body, bytes, number);
	header.sum = rpc_sum(body, bytes);
	const bool sent =
		rpc_write(socket, &header, sizeof(header)) && rpc_write(socket, body, bytes);

	hq_heap_free(self->heap, body, bytes);
	return sent && await_reply(self, socket, number);
}

static void call(struct rpc *self, uint64_t number)
{
	struct client *const client = self->state;
	const uint64_t index = number % self->options->connections;
	const uint64_t bytes = hq_random_size(&client->random, &self->options->body);

	hq_arrivals_begin(&client->arrivals, self->heap);
	if (!open_connection(self, index)) {
		hq_heap_missed(self->heap);
		hq_host_sleep_ns(HQ_MS);
	} else if (!exchange(self, client->sockets[index], number, bytes)) {
		close_connection(client, index);
	}
	hq_heap_op_end(self->heap);
	if ((number + 1) % self->options->reconnect == 0)
		close_connection(client, index);
}

void rpc_client_run(struct rpc *self)
{
	struct client *const client = self->state;

	for (uint64_t i = 0; i < self->options->requests && !hq_host_stopping(); i++)
		call(self, i);
	for (uint64_t i = 0; i < self->options->connections; i++)
		close_connection(client, i);
	/* Pairs with the acquire in the reactors: the last connections are at their doors. */
	hq_fetch_add_acq_rel(&self->shared->clients_done, 1);
}

void rpc_client_release(struct rpc *self)
{
	struct client *const client = self->state;

	for (uint64_t i = 0; i < self->options->connections; i++)
		close_connection(client, i);
}
