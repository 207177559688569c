/*
 * rerank.h - the request of the rerankers: a query and documents, whose name differs by API.
 */
#ifndef VENTURI_LOAD_ENDPOINTS_RERANK_H
#define VENTURI_LOAD_ENDPOINTS_RERANK_H

#include "load/endpoint.h"
#include "text/json.h"

enum { RERANK_DOCUMENTS = 8 }; /* cut from a text */

/*
 * Writes "query" and an array of documents. A prompt that is only a text is cut: its words in
 * RERANK_DOCUMENTS + 1 equal parts, the query first and what does not divide in the last document;
 * a text of fewer words gives fewer documents, and one word is query and document.
 */
void rerank_write(struct json *j, const struct prompt *p, const char *documents_name);

#endif
