/*
 * base64.h - bytes as base64 with padding (RFC 4648, section 4).
 */
#ifndef VENTURI_TEXT_BASE64_H
#define VENTURI_TEXT_BASE64_H

#include "base/str.h"

#include <stddef.h>

void base64_add(struct buf *out, const void *bytes, size_t n);

#endif
