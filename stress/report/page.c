/* SPDX-License-Identifier: MIT */
/*
 * The page's parts are files of stress/report/page, and Chart.js as the distribution packages it;
 * the assembler puts their bytes into the program. Without Chart.js at build time the page has its
 * tables and says why it has no charts.
 *
 * The data stand in a script element, whose content ends at the first "</" whatever surrounds it:
 * so every '<' is written as an escape of JSON. The page's own code puts text into text nodes only.
 */
#include "stress/report/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EMBED(name, path)                                                                          \
	__asm__(".pushsection .rodata\n"                                                           \
		".hidden hq_page_" #name "\n"                                                      \
		".global hq_page_" #name "\n"                                                      \
		"hq_page_" #name ":\n"                                                             \
		".incbin \"" path "\"\n"                                                           \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char hq_page_##name[]

EMBED(style, "stress/report/page/page.css");
EMBED(script, "stress/report/page/page.js");
EMBED(charts, HQ_CHARTS);

/* JSON as it may stand in a script element. */
static int write_data(const char *text, FILE *stream)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("\\u003c", stream);
		else if (*text == '>')
			fputs("\\u003e", stream);
		else if (*text == '&')
			fputs("\\u0026", stream);
		else
			fputc(*text, stream);
	}
	return ferror(stream) ? -EIO : 0;
}

int hq_page_write(json_t *data, FILE *stream)
{
	char *text =
		data ? json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(7))
		     : NULL;

	json_decref(data);
	if (!text)
		return -ENOMEM;
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>heapquake</title>\n<style>\n",
	      stream);
	fputs(hq_page_style, stream);
	fputs("</style>\n</head>\n<body>\n<main id=\"page\"></main>\n"
	      "<noscript>This page draws its tables and charts with scripts that it brings "
	      "along.</noscript>\n<script>\n",
	      stream);
	fputs(hq_page_charts, stream);
	fputs("\n</script>\n<script type=\"application/json\" id=\"data\">", stream);
	write_data(text, stream);
	free(text);
	fputs("</script>\n<script>\n", stream);
	fputs(hq_page_script, stream);
	fputs("</script>\n</body>\n</html>\n", stream);
	return fflush(stream) || ferror(stream) ? -EIO : 0;
}
