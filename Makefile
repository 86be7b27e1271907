# SPDX-License-Identifier: MIT
#
# One file, no recursion. Every variant (compiler, sanitizer) builds in its own folder:
# `make VARIANT=asan` leaves build/asan/. V=1 shows the commands.
#
# `make` builds and installs nothing. `make check` and `make stress` install what is missing first
# (as root or with passwordless sudo; otherwise they print the one command to run).

VARIANT ?=
B := build$(if $(VARIANT),/$(VARIANT))
CC ?= gcc
AR ?= ar
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wcast-align -Wformat=2
# Sanitizers make gcc see dangers that are none, so a warning is an error in the plain build alone.
WERROR ?= $(if $(CI),$(if $(VARIANT),,-Werror))
OPT ?= -O2
SAN_asan := -fsanitize=address,undefined -fno-omit-frame-pointer
SAN_tsan := -fsanitize=thread
SAN := $(SAN_$(VARIANT))
# bedrock checks itself where an outer checker looks on as well.
CPPFLAGS += -D_GNU_SOURCE -I. $(if $(filter asan,$(VARIANT)),-DBEDROCK_DEBUG=2) \
	    $(if $(filter debug,$(VARIANT)),-DBEDROCK_DEBUG=3)
CFLAGS += -std=gnu11 $(OPT) -g -fPIC $(WARN) $(WERROR) $(SAN)
LDFLAGS += $(SAN)
MALLOC_IS_OPAQUE := -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free

# Flags of the libraries heapquake is built on; asked for only when something is built.
pkg = $(shell pkg-config $(1) yaml-0.1 jansson libxml-2.0 zlib gsl 2>/dev/null)
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(call pkg,--cflags))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $$(call pkg,--libs))$(PKG_LIBS)

# Charts of the HTML report; without Chart.js it has tables only.
CHARTS = $(firstword $(wildcard /usr/share/javascript/chart.js/chart.min.js /usr/share/nodejs/chart.js/dist/chart.min.js) \
	 /dev/null)

src = $(sort $(foreach d,$(1),$(wildcard $(d)/*.c)))
obj = $(patsubst %.c,$(B)/obj/%.o,$(1))

BEDROCK_SRC   := $(call src,allocator/bedrock)
FAULTY_SRC    := $(call src,allocator/faulty)
INJECTOR_SRC  := $(call src,injectors injectors/syscall)
WIRE_SRC      := $(call src,stress/wire)
WORKLOAD_SRC  := $(call src,stress/workload)
HOST_SRC      := $(call src,stress/host)
PRELOAD_SRC   := $(call src,stress/preload)
BETWEEN_SRC   := $(call src,stress/between)
GUARD_SRC     := $(call src,stress/guard)
RECORDER_SRC  := $(call src,stress/recorder)
TRACE_SRC     := $(call src,stress/trace)
CONTROL_SRC   := $(call src,stress/observe stress/check stress/compare stress/report stress/plan \
		 stress/control stress/command)
# The part of injectors/ that also runs inside the target: it never allocates, prints or locks.
TARGET_SRC    := $(sort $(wildcard injectors/decide.c injectors/contract.c injectors/syscall/filter.c \
		 injectors/syscall/split.c))

OUTPUTS  := $(B)/heapquake $(B)/heapquake-host $(B)/libheapquake-preload.so \
	    $(B)/libheapquake-guard.so $(B)/libheapquake-recorder.so $(B)/libbedrock.so $(B)/libbedrock-debug.so \
	    $(B)/libbedrock.a $(if $(FAULTY_SRC),$(B)/libfaulty.so)

.PHONY: all
all: $(OUTPUTS) ## build everything (the default)

# The controller knows workloads by their tables and never runs one; what their code calls is linked
# all the same.
$(B)/heapquake: $(call obj,$(CONTROL_SRC) $(WORKLOAD_SRC) $(WIRE_SRC) $(INJECTOR_SRC) $(TRACE_SRC) \
		$(filter-out %/main.c,$(HOST_SRC)))
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -lpthread -lm -ldl

$(B)/heapquake-host: $(call obj,$(HOST_SRC) $(WORKLOAD_SRC) $(TRACE_SRC) $(WIRE_SRC) $(INJECTOR_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lz -lpthread -lm -ldl

# The preloaded library is never built with a sanitizer: their runtimes must come first.
$(B)/libheapquake-preload.so: $(patsubst %.c,$(B)/pre/%.o,$(PRELOAD_SRC) $(TARGET_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-z,initfirst -Wl,-z,now -Wl,-z,defs -o $@ $^ -ldl -lpthread

# Nor is the guard, which is loaded behind it and only where it is asked for. It brings its unwinder.
$(B)/libheapquake-guard.so: $(patsubst %.c,$(B)/pre/%.o,$(GUARD_SRC) $(BETWEEN_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -static-libgcc -Wl,-z,now -Wl,-z,defs -o $@ $^ -ldl -lpthread

# And the recorder, for `heapquake record` alone.
$(B)/libheapquake-recorder.so: $(patsubst %.c,$(B)/pre/%.o,$(RECORDER_SRC) $(BETWEEN_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-z,now -Wl,-z,defs -o $@ $^ -ldl -lpthread

$(B)/libbedrock.so: $(call obj,$(BEDROCK_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-z,now -o $@ $^ -lpthread

# All invariants checked, for allocator authors and for programs that are suspected of misuse.
$(B)/checked/%.o: %.c
	$(call say,CC,$< checked)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -UBEDROCK_DEBUG -DBEDROCK_DEBUG=3 $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libbedrock-debug.so: $(patsubst %.c,$(B)/checked/%.o,$(BEDROCK_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-z,now -o $@ $^ -lpthread

$(B)/libfaulty.so: $(call obj,$(FAULTY_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-z,now -o $@ $^ -lpthread

# What is linked into a C++ program can count on its runtime.
$(B)/archive/%.o: %.c
	$(call say,CC,$< for the archive)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -DBEDROCK_IN_ARCHIVE $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libbedrock.a: $(filter-out %/operators.o,$(call obj,$(BEDROCK_SRC))) \
		   $(B)/archive/allocator/bedrock/operators.o
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

# For programs under the address sanitizer, which is told of every block. Without malloc and the operators:
# those are the sanitizer's own.
$(B)/told/%.o: %.c
	$(call say,CC,$< for the address sanitizer)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -DBEDROCK_TELL_ASAN $(CFLAGS) -fsanitize=address -fno-omit-frame-pointer -MMD -MP -c -o $@ $<

$(B)/libbedrock-asan.a: $(patsubst %.c,$(B)/told/%.o,$(filter-out %/interpose.c %/operators.c,$(BEDROCK_SRC)))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(B)/obj/allocator/%.o $(B)/archive/allocator/%.o $(B)/checked/allocator/%.o $(B)/told/allocator/%.o: CFLAGS += -fvisibility=hidden -ftls-model=initial-exec $(MALLOC_IS_OPAQUE)
$(B)/obj/stress/host/%.o $(B)/obj/stress/workload/%.o: CFLAGS += $(MALLOC_IS_OPAQUE)
$(B)/obj/stress/%.o $(B)/obj/injectors/%.o: CFLAGS += $(PKG_CFLAGS)

# What the page embeds.
$(B)/obj/stress/report/page.o: CPPFLAGS += -DHQ_CHARTS='"$(CHARTS)"'
$(B)/obj/stress/report/page.o: $(wildcard stress/report/page/*) $(filter-out /dev/null,$(CHARTS))

$(B)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/pre/stress/guard/%.o $(B)/obj/stress/guard/%.o $(B)/pre/stress/recorder/%.o: CFLAGS += $(MALLOC_IS_OPAQUE)
$(B)/pre/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) -fvisibility=hidden \
		-ftls-model=initial-exec -fno-stack-protector -MMD -MP -c -o $@ $<

# ---- tests ----

TEST_SRC := $(sort $(wildcard allocator/tests/test_*.c injectors/tests/test_*.c stress/tests/test_*.c))
TESTS := $(patsubst %.c,$(B)/%,$(TEST_SRC))
STRESSES := $(patsubst %.c,$(B)/%,$(sort $(wildcard allocator/tests/stress_*.c stress/tests/stress_*.c)))
NOT_IN_TESTS := %/main.o %/interpose.o %/operators.o

$(B)/libheapquake-test.a: $(filter-out $(NOT_IN_TESTS),$(call obj,$(CONTROL_SRC) $(HOST_SRC) \
			  $(WORKLOAD_SRC) $(WIRE_SRC) $(INJECTOR_SRC) $(GUARD_SRC) $(BETWEEN_SRC) \
			  $(TRACE_SRC)))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(B)/libbedrock-test.a: $(filter-out $(NOT_IN_TESTS),$(call obj,$(BEDROCK_SRC)))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(B)/libfaulty-test.a: $(filter-out $(NOT_IN_TESTS),$(call obj,$(FAULTY_SRC)))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(B)/allocator/tests/test_faulty: allocator/tests/test_faulty.c $(B)/libfaulty-test.a
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(MALLOC_IS_OPAQUE) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< \
		$(B)/libfaulty-test.a -lcriterion -lpthread

# With PLAIN=1 the unit tests of the allocator do without Criterion, where there is none.
UNIT_LIBS := $(if $(PLAIN),-Iallocator/tests/plain allocator/tests/plain/runner.c,-lcriterion)

$(B)/allocator/tests/%: allocator/tests/%.c $(B)/libbedrock-test.a
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(MALLOC_IS_OPAQUE) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< \
		$(if $(findstring /test_,$<),$(UNIT_LIBS)) $(B)/libbedrock-test.a -lpthread -ldl

$(B)/injectors/tests/%: injectors/tests/%.c $(B)/libheapquake-test.a
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(PKG_CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< \
		$(B)/libheapquake-test.a $(PKG_LIBS) -lcriterion -lpthread -lm -ldl

$(B)/stress/tests/%: stress/tests/%.c $(B)/libheapquake-test.a
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(PKG_CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< \
		$(B)/libheapquake-test.a $(PKG_LIBS) $(if $(findstring /test_,$<),-lcriterion) \
		-lpthread -lm -ldl

# A program with planted errors, on bedrock in every way that a tool can meet it.
PLANTED := $(B)/planted/preloaded $(B)/planted/linked $(B)/planted/prefixed
PLANTED_CFLAGS := $(filter-out -fsanitize% -O%,$(CFLAGS)) -O1 $(MALLOC_IS_OPAQUE)

$(B)/planted/preloaded: allocator/tests/planted.c
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(PLANTED_CFLAGS) -o $@ $<

$(B)/planted/linked: allocator/tests/planted.c $(B)/libbedrock.a
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(PLANTED_CFLAGS) -o $@ $< $(B)/libbedrock.a -lpthread

$(B)/planted/prefixed: allocator/tests/planted.c $(B)/libbedrock.a
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -DPLANTED_PREFIXED $(PLANTED_CFLAGS) -o $@ $< $(B)/libbedrock.a -lpthread

$(B)/planted/asan: allocator/tests/planted.c $(B)/libbedrock-asan.a
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -DPLANTED_PREFIXED $(PLANTED_CFLAGS) -fsanitize=address -o $@ $< \
		$(B)/libbedrock-asan.a -lpthread

# Small programs and libraries that the tests run things on: NAME.c is a program, lib_NAME.c a library,
# static_NAME.c a program without a dynamic linker, fixed_NAME.c one that is linked to one place in memory.
TARGETS := $(patsubst stress/tests/targets/%.c,$(B)/targets/%,$(sort $(wildcard stress/tests/targets/*.c)))

$(B)/targets/lib_%: stress/tests/targets/lib_%.c
	$(call say,TARGET,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(MALLOC_IS_OPAQUE) -shared -o $@ $< -ldl -lpthread

$(B)/targets/fixed_%: stress/tests/targets/fixed_%.c
	$(call say,TARGET,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fPIC -fsanitize%,$(CFLAGS)) $(MALLOC_IS_OPAQUE) -fno-pic -no-pie -o $@ $<

$(B)/targets/static_%: stress/tests/targets/static_%.c
	$(call say,TARGET,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fPIC -fsanitize%,$(CFLAGS)) $(MALLOC_IS_OPAQUE) -static -o $@ $<

$(B)/targets/%: stress/tests/targets/%.c
	$(call say,TARGET,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) $(MALLOC_IS_OPAQUE) -o $@ $< -ldl -lpthread

.PHONY: tests
tests: $(TESTS) $(STRESSES) $(TARGETS) $(B)/bench/instructions $(B)/bench/replay ## build the tests without running them

.PHONY: stresses
stresses: $(STRESSES)

.PHONY: allocator-tests
allocator-tests: $(filter $(B)/allocator/%,$(TESTS) $(STRESSES))

.PHONY: lint
lint: ## what the house demands of every file
	@bash ci/lint.sh

.PHONY: mutation
mutation: setup-check ## plant every bug and count those that the suite sees; SEEDS=20, PEERS=1: what others see
	@$(MAKE) --no-print-directory -j$(JOBS) all $(if $(PEERS),$(B)/targets/honest)
	@$(if $(PEERS),BUILD=$(B) python3 ci/compare_peers.py,$(B)/heapquake selftest --jobs=$(JOBS) \
		$(if $(SEEDS),--seeds=$(SEEDS)))

setup-%:
	@bash ci/setup.sh $*

.PHONY: check
check: setup-check ## set up, build, run every test; ends with "N passed, N failed, N skipped"
	@$(MAKE) --no-print-directory -j$(JOBS) all tests
	@BUILD=$(B) bash ci/check.sh

.PHONY: stress
stress: setup-stress ## set up, build, run the stress tier; ALLOCATORS="bedrock jemalloc" chooses
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@mkdir -p results && echo "the page of this run will be results/stress.html"
	@$(B)/heapquake run --jobs=$(JOBS) --tags=stress --format text,html:results/stress.html \
		--allocator=$(if $(ALLOCATORS),$(subst $(space),$(comma),$(strip $(ALLOCATORS))),all) scenarios

# The scenarios are called bedrock-NAME, after the allocator that they are there for.
program_words = $(subst $(comma), ,$(PROGRAMS))
program_filter = $(subst |, or ,$(subst $(space),|,$(strip $(patsubst %,bedrock-%[,$(program_words)))))
ROUNDS ?= 1

.PHONY: programs
programs: setup-programs ## real programs on every allocator, with time and memory; PROGRAMS=redis,node ROUNDS=3 ALLOCATORS=... choose
	@$(MAKE) --no-print-directory -j$(JOBS) all $(if $(program_words),$(if $(filter criterion,$(program_words)),tests),tests)
	@timeout --foreground --signal=INT $$((15 * $(ROUNDS)))m $(B)/heapquake run --tags=programs \
		$(if $(program_words),--filter="$(program_filter)") --repeat=$(ROUNDS) \
		--allocator=$(if $(ALLOCATORS),$(subst $(space),$(comma),$(strip $(ALLOCATORS))),all) \
		--format=usage scenarios

.PHONY: stories
stories: setup-stress ## the engineering stories: published and measured side by side; STORIES="muzzy-decay" chooses
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@BUILD=$(B) bash ci/stories.sh $(STORIES)

.PHONY: guard
guard: setup-check ## the heap guard before ordinary programs on every allocator, and every planted bug it can see
	@$(MAKE) --no-print-directory -j$(JOBS) all $(TARGETS)
	@EVERYTHING=1 ALLOCATORS="$(if $(ALLOCATORS),$(ALLOCATORS),glibc bedrock jemalloc mimalloc tcmalloc)" \
		POSTGRES_ALLOCATORS="$(if $(ALLOCATORS),$(ALLOCATORS),glibc bedrock jemalloc mimalloc tcmalloc)" \
		BUILD=$(B) bash stress/tests/e2e/run.sh guard

.PHONY: soak
soak: setup-stress ## look for false alarms for SOAK_MINUTES (5): every scenario without its faults
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@BUILD=$(B) bash ci/soak.sh

.PHONY: scenario
scenario: all ## run one scenario: S=scenarios/... [ALLOCATORS=...] [SEED=...]
	@test -n "$(S)" || { echo "make scenario S=scenarios/THEME/NAME.yaml"; exit 2; }
	@$(B)/heapquake run $(if $(ALLOCATORS),--allocator=$(subst $(space),$(comma),$(strip $(ALLOCATORS)))) \
		$(if $(SEED),--seed=$(SEED)) $(S)

BENCHES := $(patsubst %.c,$(B)/%,$(sort $(wildcard allocator/tests/bench_*.c injectors/tests/bench_*.c stress/tests/bench_*.c)))

# Programs that allocate for allocators to be preloaded into; never built with a sanitizer.
ALLOC_BENCHES := $(patsubst allocator/bench/%.c,$(B)/bench/%,$(sort \
		 $(wildcard allocator/bench/bench_*.c) allocator/bench/instructions.c allocator/bench/tails.c)) \
		 $(B)/bench/replay $(B)/bench/plain

$(B)/bench/instructions: allocator/bench/instructions.c
	$(call say,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) $(MALLOC_IS_OPAQUE) -MMD -MP -MF $@.d -o $@ $<

# Replays traces, for allocators to be preloaded into as well.
$(B)/bench/replay: stress/tests/replay.c $(B)/libheapquake-test.a
	$(call say,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(MALLOC_IS_OPAQUE) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< \
		$(B)/libheapquake-test.a -lz -lpthread

# The work of a workload without the host around it, for allocators to be preloaded into.
$(B)/bench/plain: stress/tests/plain.c $(B)/libheapquake-test.a
	$(call say,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(MALLOC_IS_OPAQUE) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< \
		$(B)/libheapquake-test.a -lz -lpthread -lm

$(B)/bench/tails: allocator/bench/tails.c allocator/bench/latency.c allocator/bench/measure.c
	$(call say,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) $(MALLOC_IS_OPAQUE) -MMD -MP -MF $@.d -o $@ \
		$(filter %.c,$^) -lpthread

$(B)/bench/bench_%: allocator/bench/bench_%.c allocator/bench/measure.c
	$(call say,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) $(MALLOC_IS_OPAQUE) -MMD -MP -MF $@.d -o $@ \
		$< allocator/bench/measure.c -lpthread

.PHONY: bench
bench: all $(BENCHES) $(ALLOC_BENCHES) $(TARGETS) ## print measured ratios; BENCH=NAME chooses one, FULL=1 takes its time
	@BUILD=$(B) FULL=$(FULL) bash ci/bench.sh $(BENCH)

.PHONY: asan
asan: setup-check ## unit and stress programs under the address and undefined behaviour sanitizers
	@$(MAKE) --no-print-directory -j$(JOBS) VARIANT=asan tests
	@$(MAKE) --no-print-directory -j$(JOBS) VARIANT= build/planted/asan
	@bash ci/sanitize.sh asan

.PHONY: tsan
tsan: setup-check ## threaded tests under the thread sanitizer
	@$(MAKE) --no-print-directory -j$(JOBS) VARIANT=tsan stresses
	@bash ci/sanitize.sh tsan

.PHONY: debug
debug: setup-check ## bedrock's unit and stress programs with all of its invariants checked
	@$(MAKE) --no-print-directory -j$(JOBS) VARIANT=debug allocator-tests
	@bash ci/sanitize.sh debug

.PHONY: valgrind
valgrind: setup-check ## planted errors, stress programs and unit tests under memcheck
	@$(MAKE) --no-print-directory -j$(JOBS) all tests $(PLANTED)
	@BUILD=$(B) bash ci/valgrind.sh

.PHONY: ports
ports: setup-ports ## bedrock with musl, and for aarch64 under emulation: its unit and stress programs
	@bash ci/ports.sh

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
comma := ,
empty :=
space := $(empty) $(empty)

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

-include $(shell find $(B) -name '*.d' 2>/dev/null)
