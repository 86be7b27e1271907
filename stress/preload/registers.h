/* SPDX-License-Identifier: MIT */
/*
 * Registers of a trapped call in a signal's context, for each architecture.
 */
#ifndef HQ_STRESS_PRELOAD_REGISTERS_H
#define HQ_STRESS_PRELOAD_REGISTERS_H

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

static inline void hq_registers_args(const ucontext_t *context, uint64_t args[6])
{
#if defined(__x86_64__)
	const greg_t *r = context->uc_mcontext.gregs;

	args[0] = (uint64_t)r[REG_RDI];
	args[1] = (uint64_t)r[REG_RSI];
	args[2] = (uint64_t)r[REG_RDX];
	args[3] = (uint64_t)r[REG_R10];
	args[4] = (uint64_t)r[REG_R8];
	args[5] = (uint64_t)r[REG_R9];
#else
	for (int i = 0; i < 6; i++)
		args[i] = context->uc_mcontext.regs[i];
#endif
}

static inline void hq_registers_set_result(ucontext_t *context, int64_t result)
{
#if defined(__x86_64__)
	context->uc_mcontext.gregs[REG_RAX] = result;
#else
	context->uc_mcontext.regs[0] = (uint64_t)result;
#endif
}

/* The mask that the kernel puts back when the handler returns: 64 bits of libc's larger type. */
static inline uint64_t *hq_registers_mask(ucontext_t *context)
{
	return (uint64_t *)(void *)&context->uc_sigmask;
}

#endif
