/*
 * extreme.c
 *	  Least and greatest values by the exponential mechanism on a grid: exact
 *	  laws, audits, and the variants that these must reject.
 */
#include "quantile_model.h"

static const char *
end_name(int end)
{
	return end < 0 ? "least" : "greatest";
}

static void
test_extreme(const char *rows, int end, int a, const char *epsilon)
{
	quantile   *q = choice_of(rows, end, a, 2, epsilon, SOUND);
	subject		s = {draw_mechanism, {q, q}, 1, {0, 0}, 1, 0, 0, 0};
	char		label[128];
	law			l;

	quantile_law(q, &l);
	snprintf(label, sizeof(label), "%s of {%s}, T %d/2, epsilon %s",
			 end_name(end), rows, a, epsilon);
	accept_law(label, &s, &l);
	s.draw = draw_model;
	strcat(label, ", the model");
	accept_law(label, &s, &l);
	free(q);
}

/* One row more, with the right scale and with half of it. */
static void
test_extreme_loss(int end, const char *one, const char *other)
{
	subject		s = {draw_mechanism, {NULL, NULL}, 1, {0, 0}, 1, 1, 0, RUNS};
	quantile   *sound = choice_of(one, end, 2, 2, "1", SOUND);
	char		label[128];
	law			l;
	int			i;

	quantile_law(sound, &l);
	for (i = 0; i < 2; i++)
	{
		quantile_defect defect = i == 0 ? SOUND : SCALE_HALVED;

		s.input[0] = choice_of(one, end, 2, 2, "1", defect);
		s.input[1] = choice_of(other, end, 2, 2, "1", defect);
		snprintf(label, sizeof(label), "%s of {%s} and {%s}", end_name(end),
				 one, other);
		if (i == 0)
			accept_audit(label, &s, 0.5);
		else
			reject(end_name(end), "scale halved", BY_LAW | BY_AUDIT, &s, &l);
		free(s.input[0]);
		free(s.input[1]);
	}
	free(sound);
}

static void
test_extreme_defect(int end, quantile_defect defect, const char *variant)
{
	const char *rows = "1 2 2 4 7 7 7 9";
	quantile   *sound = choice_of(rows, end, 4, 2, "2", SOUND);
	quantile   *broken = choice_of(rows, end, 4, 2, "2", defect);
	subject		s = {draw_model, {broken, broken}, 1, {0, 0}, 1, 0, 0, 0};
	law			l;

	quantile_law(sound, &l);
	reject(end_name(end), variant, BY_LAW, &s, &l);
	free(sound);
	free(broken);
}

static void
test_extremes(void)
{
	static const char *const rows[] = {"1 2 2 4 7 7 7 9", "3", "5 5 5 5 5 5",
	"0 0 12", ""};
	int			i;

	for (i = 0; i < 5; i++)
	{
		test_extreme(rows[i], 1, 1, "2");
		test_extreme(rows[i], -1, 5, "1/2");
		test_extreme(rows[i], 1, 40, "2");
	}
	test_extreme_loss(1, "1", "1 12");
	test_extreme_loss(-1, "11", "0 11");
	for (i = -1; i <= 1; i += 2)
	{
		test_extreme_defect(i, RANK_OFF_BY_ONE, "rank off by one");
		test_extreme_defect(i, SHARE_OF_ROWS, "T grows with the rows");
	}
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_extremes();
	return table_done();
}
