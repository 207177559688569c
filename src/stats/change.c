#include "stats/change.h"

#include <math.h>

/* Stronger resemblance of neighbours cannot be told from a change. */
static const double neighbours_max = 0.9;
static const double freedom_min = 3;

/* A level holds at least this share of the values, so that a few odd ones at an end are none. */
enum { LEVELS = 8 };

struct line {
	double middle, slope; /* the value at the middle, the rise per step */
	double squares;       /* left unexplained */
	double bend;          /* of a parabola through what is left; the line goes without it */
};

static double mean_of(const double *x, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i] - x[0];
	return x[0] + sum / (double)n;
}

static struct line line_through(const double *x, size_t n)
{
	double center = ((double)n - 1) / 2, tt = 0, tx = 0;
	struct line l = { .middle = mean_of(x, n) };
	for (size_t i = 0; i < n; i++) {
		double t = (double)i - center;
		tt += t * t;
		tx += t * (x[i] - l.middle);
	}
	l.slope = tx / tt;
	for (size_t i = 0; i < n; i++) {
		double rest = x[i] - l.middle - l.slope * ((double)i - center);
		l.squares += rest * rest;
	}
	/* The parabola that is orthogonal to every line. */
	double flat = tt / (double)n, bb = 0, bx = 0;
	for (size_t i = 0; i < n; i++) {
		double t = (double)i - center, b = t * t - flat;
		bb += b * b;
		bx += b * (x[i] - l.middle);
	}
	l.bend = bx / bb;
	return l;
}

void change_slope(const double *x, size_t n, double *ret_slope, double *ret_error)
{
	struct line l = line_through(x, n);
	double m = (double)n;
	*ret_slope = l.slope;
	*ret_error = sqrt(l.squares / (m - 2) / (m * (m * m - 1) / 12));
}

/*
 * What is left of x[i] once the change is taken out: a line that may bend, or two levels that part
 * at `at`. What is left of a bent trend would else pass for neighbours that resemble each other.
 */
struct fit {
	struct line line;
	double low, high;
	size_t at; /* 0: the line */
};

static double rest_of(const double *x, size_t n, const struct fit *f, size_t i)
{
	if (f->at > 0)
		return x[i] - (i < f->at ? f->low : f->high);
	double m = (double)n, t = (double)i - (m - 1) / 2;
	double bent = f->line.bend * (t * t - (m * m - 1) / 12);
	return x[i] - f->line.middle - f->line.slope * t - bent;
}

/* How many independent values those are worth whose neighbours resemble each other as the rests do.
 */
static double worth(const double *x, size_t n, const struct fit *f)
{
	double products = 0, squares = 0, m = (double)n;
	for (size_t i = 0; i < n; i++) {
		double rest = rest_of(x, n, f, i);
		squares += rest * rest;
		if (i > 0)
			products += rest * rest_of(x, n, f, i - 1);
	}
	double r = squares > 0 ? products / squares : 0;
	r = (m * r + 2) / (m - 8);
	r = fmin(fmax(r, 0), neighbours_max);
	return m * (1 - r) / (1 + r);
}

/*
 * The chance of a deviation of t standard errors, which hold for n independent values, when they
 * are worth fewer.
 *
 * source  Student's t by Wallace 1959, Bounds on normal approximations to Student's distribution
 */
static double t_p(double t, double n, double n_worth)
{
	double freedom = fmax(n_worth - 2, freedom_min), shrunk = t * sqrt(n_worth / n);
	double z = sqrt(freedom * log1p(shrunk * shrunk / freedom));
	return erfc(z * (8 * freedom + 1) / (8 * freedom + 3) / M_SQRT2);
}

static int sign(double d)
{
	return (d > 0) - (d < 0);
}

/* Mann's test, with the continuity correction; equal values count as neither. */
static double mann_p(const double *x, size_t n)
{
	double s = 0, m = (double)n;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			s += sign(x[k] - x[i]);
	return erfc(fmax(0, fabs(s) - 1) / sqrt(2 * m * (m - 1) * (2 * m + 5) / 18));
}

/* Pettitt's test: the largest difference of ranks between what is before and after a moment. */
static double pettitt_p(const double *x, size_t n)
{
	double u = 0, largest = 0, m = (double)n;
	for (size_t t = 0; t + 1 < n; t++) {
		for (size_t k = 0; k < n; k++)
			u += sign(x[k] - x[t]);
		largest = fmax(largest, fabs(u));
	}
	return fmin(1, 2 * exp(-6 * largest * largest / (m * m * m + m * m)));
}

static double squares_of(const double *x, size_t n, const struct fit *f)
{
	double squares = 0;
	for (size_t i = 0; i < n; i++)
		squares += rest_of(x, n, f, i) * rest_of(x, n, f, i);
	return squares;
}

static struct change trend_of(const double *x, size_t n, double *ret_squares)
{
	struct fit f = { .line = line_through(x, n) };
	double m = (double)n, half = f.line.slope * (m - 1) / 2;
	double error = sqrt(squares_of(x, n, &f) / (m - 3) / (m * (m * m - 1) / 12));
	double by_line = f.line.slope == 0 ? 1 : t_p(f.line.slope / error, m, worth(x, n, &f));
	*ret_squares = f.line.squares;
	return (struct change){
		.p = fmax(mann_p(x, n), by_line),
		.from = f.line.middle - half,
		.to = f.line.middle + half,
	};
}

static struct fit step_at(const double *x, size_t n, size_t at)
{
	return (struct fit){ .low = mean_of(x, at), .high = mean_of(x + at, n - at), .at = at };
}

/* The jump that leaves the least; for having been sought, its chance is raised by Bonferroni. */
static struct change shift_of(const double *x, size_t n, double *ret_squares)
{
	size_t least = n / LEVELS;
	struct fit best = step_at(x, n, least);
	double squares = squares_of(x, n, &best), m = (double)n;
	for (size_t at = least + 1; at <= n - least; at++) {
		struct fit f = step_at(x, n, at);
		double left = squares_of(x, n, &f);
		if (left < squares) {
			squares = left;
			best = f;
		}
	}
	double n_low = (double)best.at, n_high = m - n_low;
	double error = sqrt(squares / (m - 2) * (1 / n_low + 1 / n_high));
	double jump = best.high - best.low;
	double by_step = jump == 0 ? 1 : m * t_p(jump / error, m, worth(x, n, &best));
	*ret_squares = squares;
	return (struct change){ true, fmin(1, fmax(pettitt_p(x, n), by_step)), best.low, best.high,
		best.at };
}

bool change_find(const double *x, size_t n, struct change *ret)
{
	double trend_left, shift_left;
	if (n < CHANGE_MIN)
		return false;
	struct change trend = trend_of(x, n, &trend_left), shift = shift_of(x, n, &shift_left);
	*ret = shift_left < trend_left ? shift : trend;
	return true;
}
