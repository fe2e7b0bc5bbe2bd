/*
 * noisy_rows.c
 *	  The noisy number of rows, where that is not public.
 *
 * The noise is drawn where the rows are read.
 */
#include "postgres.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../reader/dp_reader.h"
#include "../readings/dp_readings.h"
#include "dp_workload.h"

/* dp_workload_count_scale: the noise; errors as dp_base_check_status. */
dp_scale
dp_workload_count_scale(uint64 sensitivity, const dp_rational *epsilon)
{
	dp_scale	scale;

	dp_base_check_status(dp_noise_scale_make(sensitivity, epsilon, &scale),
						 "compute a noise scale");
	return scale;
}

/*
 * dp_workload_noisy_count
 *	  An exact number of rows with discrete Laplace noise, clamped to least ..
 *	  most afterwards.  What it costs has been charged.
 */
int64
dp_workload_noisy_count(const dp_scale *scale, dp_int128 exact, int64 least,
						int64 most)
{
	dp_int128	noise = 0;
	dp_int128	noisy;
	int64		count;

	dp_base_check_status(dp_noise_discrete_laplace(dp_base_source(), scale,
												   &noise), "draw noise");
	if (__builtin_add_overflow(exact, noise, &noisy))
		noisy = noise;
	count = (int64) Max(Min(noisy, most), least);
	explicit_bzero(&noise, sizeof(noise));
	explicit_bzero(&noisy, sizeof(noisy));
	return count;
}

/* ---- a reading for the number alone ---- */

/* What the process that reads is given. */
typedef struct number_data
{
	dp_scale	scale;
	int64		least;
	int64		most;
} number_data;

typedef struct number_call
{
	dp_reader_charge charge;
	void	   *context;
	int64		number;
} number_call;

typedef struct number_work
{
	number_data data;
	int64		ncounts;
} number_work;

static void *
begin(const void *data, Size size, int64 ncounts, dp_reader_source source,
	  void *context)
{
	number_work *work = palloc(sizeof(number_work));

	work->data = *(const number_data *) data;
	work->ncounts = ncounts;
	return work;
}

static void
finish(void *state, const int64 *counts, dp_reader_sink sink, void *context)
{
	const number_work *work = state;
	dp_int128	sum = 0;
	int64		noisy;
	int64		i;

	for (i = 0; i < work->ncounts; i++)
		sum += counts[i];
	noisy = dp_workload_noisy_count(&work->data.scale, sum, work->data.least,
									work->data.most);
	sink(context, &noisy, sizeof(noisy));
}

static const dp_use_methods methods = {begin, finish};

/* dp_workload_init: from _PG_init, in every process. */
void
dp_workload_init(void)
{
	dp_readings_register(DP_USE_NUMBER, &methods);
}

static void
charge_number(void *context)
{
	const number_call *call = context;

	call->charge(call->context);
}

static void
take_number(void *context, const void *data, Size size)
{
	memcpy(&((number_call *) context)->number, data, sizeof(int64));
}

/* dp_workload_count_rows: see dp_workload.h; errors as dp_readings_run. */
int64
dp_workload_count_rows(dp_reading *reading, const dp_rational *epsilon,
					   int64 least, int64 most, dp_reader_charge charge,
					   void *context)
{
	number_data data;
	number_call call = {charge, context, least};
	dp_reading_use use = {DP_USE_NUMBER, &data, sizeof(data), NULL,
	charge_number, take_number, &call};

	data.scale = dp_workload_count_scale(dp_readings_rows(reading), epsilon);
	data.least = least;
	data.most = most;
	dp_readings_run(reading, &use);
	return call.number;
}
