/*
 * attr.h - the one spelling of each compiler attribute that the project uses.
 */
#ifndef VENTURI_BASE_ATTR_H
#define VENTURI_BASE_ATTR_H

#define NODISCARD __attribute__((warn_unused_result))
#define NORETURN __attribute__((noreturn))
#define PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
/* AUTO(auto_fd) int fd = -1; runs the function on the variable when it leaves its scope. */
#define AUTO(fn) __attribute__((cleanup(fn)))
#define UNUSED __attribute__((unused))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
