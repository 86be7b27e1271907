#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bedrock in programs as they are: preloaded, linked, and linked into them.

write_operators() {
	cat >operators.cpp <<-'C'
		#include <cstdint>
		#include <cstdio>
		#include <new>
		#include <sys/resource.h>
		#include "allocator/bedrock/bedrock.h"

		struct alignas(256) wide { char bytes[300]; };
		static int failures, handled;
		static volatile std::size_t huge = SIZE_MAX / 4;
		static void *volatile sink;
		static rlimit limit;

		#define HOLDS(x) ((x) ? (void)0 : (void)(failures++, std::printf("line %d: %s\n", __LINE__, #x)))

		static bool is_ours(void *block) { return bedrock_malloc_usable_size(block) > 0; }

		static void every_form()
		{
		    auto align = std::align_val_t{512};
		    void *block;
		    HOLDS(is_ours(block = ::operator new(100))); ::operator delete(block);
		    HOLDS(is_ours(block = ::operator new(100))); ::operator delete(block, std::size_t{100});
		    HOLDS(is_ours(block = ::operator new[](100))); ::operator delete[](block);
		    HOLDS(is_ours(block = ::operator new[](100))); ::operator delete[](block, std::size_t{100});
		    HOLDS(is_ours(block = ::operator new(100, std::nothrow))); ::operator delete(block, std::nothrow);
		    HOLDS(is_ours(block = ::operator new[](100, std::nothrow))); ::operator delete[](block, std::nothrow);
		    HOLDS((std::uintptr_t)(block = ::operator new(100, align)) % 512 == 0); ::operator delete(block, align);
		    HOLDS((std::uintptr_t)(block = ::operator new[](100, align)) % 512 == 0);
		    ::operator delete[](block, std::size_t{100}, align);
		    HOLDS((std::uintptr_t)(block = ::operator new(100, align, std::nothrow)) % 512 == 0);
		    ::operator delete(block, align, std::nothrow);
		    HOLDS((std::uintptr_t)(block = ::operator new[](100, align, std::nothrow)) % 512 == 0);
		    ::operator delete[](block, align);
		    wide *several = new wide[3];
		    HOLDS((std::uintptr_t)several % 256 == 0);
		    delete[] several;
		    ::operator delete(nullptr);
		    HOLDS(is_ours(block = ::operator new(0))); ::operator delete(block);
		}

		template <class Call> static bool throws(Call call)
		{
		    try { sink = call(); } catch (const std::bad_alloc &) { return true; }
		    return false;
		}

		static void no_memory()
		{
		    HOLDS(throws([] { return ::operator new(huge); }));
		    HOLDS(throws([] { return ::operator new[](huge); }));
		    HOLDS(throws([] { return ::operator new(huge, std::align_val_t{64}); }));
		    HOLDS(throws([] { return ::operator new[](huge, std::align_val_t{64}); }));
		    HOLDS(::operator new(huge, std::nothrow) == nullptr);
		    HOLDS(::operator new(huge, std::align_val_t{64}, std::nothrow) == nullptr);
		}

		static void handlers()
		{
		    std::set_new_handler([] { if (++handled == 3) std::set_new_handler(nullptr); });
		    HOLDS(throws([] { return ::operator new(huge); }));
		    HOLDS(handled == 3);
		    rlimit before;
		    getrlimit(RLIMIT_AS, &before);
		    limit = {1 << 20, before.rlim_max};
		    setrlimit(RLIMIT_AS, &limit);
		    limit = before;
		    std::set_new_handler([] { handled++; setrlimit(RLIMIT_AS, &limit); });
		    HOLDS(!throws([] { return ::operator new(300 << 20); }));
		    HOLDS(handled == 4);
		    ::operator delete(sink);
		    std::set_new_handler([] { throw std::bad_alloc(); });
		    HOLDS(::operator new(huge, std::nothrow) == nullptr);
		    HOLDS(throws([] { return ::operator new(huge); }));
		    std::set_new_handler(nullptr);
		}

		int main()
		{
		    every_form();
		    no_memory();
		    handlers();
		    return failures != 0;
		}
	C
}

test_bedrock_serves_every_operator_of_cpp() {
	command -v g++ >/dev/null || skip "g++ is not installed"
	write_operators
	local build="g++ -std=c++17 -O1 -I$TOP -pthread"
	$build -o shared operators.cpp -L"$BUILD" -Wl,-rpath,"$BUILD" -lbedrock
	expect 0 ./shared
	$build -o archive operators.cpp "$BUILD/libbedrock.a"
	expect 0 ./archive
	nm archive >symbols
	says symbols ' T _Znwm$'
	$build -static -o static operators.cpp "$BUILD/libbedrock.a" 2>err || fail "$(cat err)"
	! grep -q warning err || fail "$(cat err)"
	expect 0 ./static
}

# The runtime comes with a library that nobody but its opener sees.
test_bedrock_throws_with_a_runtime_that_was_opened_later() {
	command -v g++ >/dev/null || skip "g++ is not installed"
	cat >late.cpp <<-'C'
		#include <new>
		extern "C" int late(unsigned long size)
		{
		    try { ::operator delete(::operator new(size)); } catch (const std::bad_alloc &) { return 7; }
		    return 0;
		}
	C
	cat >opener.c <<-'C'
		#include <dlfcn.h>
		int main(void)
		{
		    int (*late)(unsigned long) = (int (*)(unsigned long))dlsym(dlopen("./late.so", RTLD_NOW), "late");
		    return late(100) ? 1 : late(~0ul / 4);
		}
	C
	g++ -shared -fPIC -o late.so late.cpp
	gcc -o opener opener.c
	expect 7 env LD_PRELOAD="$BUILD/libbedrock.so" ./opener
}

test_bedrock_without_a_runtime_says_so() {
	cat >none.c <<-'C'
		void *_Znwm(unsigned long size);
		int main(void) { return _Znwm(~0ul / 4) != 0; }
	C
	gcc -o none none.c -L"$BUILD" -Wl,-rpath,"$BUILD" -lbedrock
	expect 134 sh -c './none; exit $?'
	says err 'bedrock: no memory for operator new, and no C\+\+ runtime to throw with'
}

# dies LIBRARY NUMBER PATTERN: that misuse ends the process with a line that says why.
dies() {
	expect 134 sh -c "LD_PRELOAD=$BUILD/$1 ./misuse $2; exit \$?"
	says err "^bedrock: $3$"
}

build_misuse() {
	cat >misuse.c <<-'C'
		#include <malloc.h>
		#include <stdlib.h>
		int main(int argc, char **argv)
		{
		    char *small = malloc(100), *large = malloc(100000), *huge = malloc(10 << 20), local[64];
		    char *volatile inside = local;
		    switch (atoi(argv[argc - 1])) {
		    case 1: free(small); free(small); break;
		    case 2: free(large); free(large); break;
		    case 3: free(huge); free(huge); break;
		    case 4: free(small + 16); break;
		    case 5: free(large + 5000); break;
		    case 6: free(huge + (5 << 20)); break;
		    case 7: free(inside); break;
		    case 8: free(small); small = realloc(small, 300); break;
		    case 9: free(huge); huge = realloc(huge, 30 << 20); break;
		    case 10: return (int)malloc_usable_size(small + 8);
		    case 11: huge = realloc(huge, 100 << 20); huge = realloc(huge, 1 << 20); free(realloc(huge, 10)); break;
		    case 12: free(NULL); return small[1] != small[50] || (unsigned char)small[50] != 0xa5;
		    }
		    return 0;
		}
	C
	gcc -w -O0 -o misuse misuse.c
}

test_debug_library_names_misuse() {
	local number library=libbedrock-debug.so address='0x[0-9a-f]+'
	build_misuse
	dies $library 1 "free of $address, which is free already: a block of 112 bytes"
	for number in 2 3; do
		dies $library "$number" "free of $address, which is no block: freed before, or never one"
	done
	dies $library 4 "free of $address, which is inside of the block $address of 112 bytes"
	dies $library 5 "free of $address, which is inside of the block $address of 102400 bytes"
	dies $library 6 "free of $address, which is inside of the block $address of 10485760 bytes"
	dies $library 7 "free of $address, which is not from here"
	dies $library 8 "realloc of $address, which is free already: a block of 112 bytes"
	dies $library 9 "realloc of $address, which is no block: freed before, or never one"
	dies $library 10 "size of $address, which is inside of the block $address of 112 bytes"
	for number in 11 12; do
		expect 0 env LD_PRELOAD="$BUILD/libbedrock-debug.so" ./misuse "$number"
	done
}

# Large blocks are looked at in every build.
test_bedrock_names_misuse_of_large_blocks() {
	local number
	build_misuse
	for number in 2 3 5 6; do
		dies libbedrock.so "$number" 'free of 0x[0-9a-f]+, which is no block: freed before, or never one'
	done
	dies libbedrock.so 9 'realloc of 0x[0-9a-f]+, which is no block: freed before, or never one'
	expect 0 env LD_PRELOAD="$BUILD/libbedrock.so" ./misuse 11
}

test_debug_library_runs_programs_as_they_are() {
	local library=$BUILD/libbedrock-debug.so
	cat >work.py <<-'P'
		import json, threading
		def work():
		    for i in range(20): json.loads(json.dumps([{"key": list(range(200))}] * 50))
		threads = [threading.Thread(target=work) for _ in range(4)]
		[thread.start() for thread in threads]
		[thread.join() for thread in threads]
	P
	expect 0 env LD_PRELOAD="$library" python3 work.py
	expect 0 env LD_PRELOAD="$library" gcc -O2 -D_GNU_SOURCE -I"$TOP" -c "$TOP/allocator/bedrock/pages.c"
	git init -q tree
	cp -r "$TOP/allocator" tree
	expect 0 env LD_PRELOAD="$library" git -C tree add -A
	expect 0 env LD_PRELOAD="$library" git -C tree -c user.name=x -c user.email=x commit -qm x
	expect 0 env LD_PRELOAD="$library" git -C tree log -p --stat
}
