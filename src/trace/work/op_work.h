/*
 * op_work.h - what an operator has to do at least: floating-point operations and bytes of its
 * operands, from the shapes and types that the trace recorded.
 *
 * A multiplication and an addition count as two operations. Bytes are those of each operand and
 * of the result once: what a kernel moves when nothing is read twice. Work that cannot be told from
 * what was recorded is none, never a guess.
 *
 * Source: for products 2 m n k (Golub and Van Loan, 1.1.12); for convolutions the product that they
 * are, 2 N K P Q C R S / groups (Chetlur 2014, cuDNN, section 2); for attention 2 Lq Lk (D + Dv)
 * a head, of which a causal mask leaves the pairs with key <= query (Dao 2022, section 3.1; the
 * softmax is not counted).
 */
#ifndef VENTURI_TRACE_OP_WORK_H
#define VENTURI_TRACE_OP_WORK_H

#include "trace/work/shapes.h"
#include "trace/timeline/timeline.h"

enum work_kind { WORK_NONE, WORK_PRODUCT, WORK_CONVOLUTION, WORK_ATTENTION, N_WORK_KINDS };
/* "none", "product", "convolution", "attention" */
extern const char *const work_kind_names[N_WORK_KINDS];

struct op_work {
	enum work_kind kind;
	enum element_type type; /* of the operands */
	double flop, bytes;
	/* A product of [batch, m, k] and [batch, k, n]; a convolution as the product that it is;
	 * attention with m queries, n keys, k = head dim, batch = sequences times heads. */
	double batch, m, n, k;
};

/*
 * name      of the operator, "aten::mm", or its type, "MatMul"
 * output_bytes  of the result where it is recorded (ONNX Runtime), else -1
 * returns   kind WORK_NONE when it is no such operator, or its shapes or types do not tell
 */
struct op_work op_work_of(struct str name, const struct shapes *s, int64_t output_bytes);

/* The same for an event of GROUP_OPERATOR. */
struct op_work op_work_of_event(const struct timeline *t, const struct event *e);

#endif
