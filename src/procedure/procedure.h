/*
 * procedure.h
 *	  What the data owner's building blocks share: what a call costs and who
 *	  pays, and the lattice on which a value that the owner computed is read.
 *
 * A call proceeds as follows: public parameters, among them the number of
 * values, are read and checked; the charge is made; then the values are read
 * and noise is drawn.  After the charge nothing can fail for a reason that
 * depends on a value: NULL and NaN count as 0, what is out of range as the
 * range's end, and a result that its type cannot hold is the type's end.
 */
#ifndef DP_PROCEDURE_H
#define DP_PROCEDURE_H

#include "fmgr.h"
#include "utils/array.h"

#include "../ledger/dp_ledger.h"

/* The price of a call and the standing of the role that is asked to pay it. */
typedef struct dp_procedure_price
{
	NameData	dataset;
	dp_rational epsilon;
	dp_fixed	epsilon_fixed;	/* the same */
	Numeric		sensitivity;	/* positive, of moderate size */
	dp_ledger_standing standing;
} dp_procedure_price;

/* Places of the parameters among the arguments of a function. */
typedef struct dp_procedure_places
{
	int			sensitivity;
	int			epsilon;
	int			dataset;
} dp_procedure_places;

/* A value or an array of values, unread. */
typedef struct dp_procedure_input
{
	Oid			type;			/* of one value */
	ArrayType  *array;			/* NULL: one value */
	int			n;
	Datum	   *values;
	bool	   *nulls;
} dp_procedure_input;

/* The multiples of 2^exponent, and how a type's values lie among them. */
typedef struct dp_lattice
{
	Oid			type;
	bool		exact;			/* every value of the type lies on it */
	dp_binary_grid grid;
} dp_lattice;

/* request.c */
extern void dp_procedure_open(FunctionCallInfo fcinfo,
							  dp_procedure_places places,
							  dp_procedure_price *out);
extern void dp_procedure_charge(const dp_procedure_price *price,
								const dp_charge *charge, int releases,
								const char *mechanism);

/* lattice.c */
extern void dp_procedure_read_value(FunctionCallInfo fcinfo, int place,
									const char *what,
									dp_procedure_input *out);
extern void dp_procedure_read_array(FunctionCallInfo fcinfo, int place,
									const char *what,
									dp_procedure_input *out);
extern dp_lattice dp_procedure_lattice(const dp_procedure_price *price,
									   const dp_procedure_input *input,
									   int together, Numeric granule);
extern dp_int128 dp_procedure_granules(const dp_lattice *lattice, Datum value,
									   bool isnull);
extern dp_int128 dp_procedure_add(dp_int128 value, dp_int128 noise);
extern Datum dp_procedure_value(const dp_lattice *lattice,
								dp_int128 granules);
extern Datum dp_procedure_answer(const dp_procedure_input *input,
								 Datum *values);

#endif							/* DP_PROCEDURE_H */
