/*
 * sent_settings.c
 *	  The settings of a connection that a reader is sent, and whether they have
 *	  changed since they were sent.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"

#include "../bridge/dp_compat.h"
#include "reader.h"

/*
 * Settings that the value of an allowed expression may depend on, and those
 * from which prices are prepared. default_text_search_config is not among
 * them: functions that use it are not allowed on private rows.
 */
static const char *const settings[DP_SENT_SETTINGS] = {
	"DateStyle", "IntervalStyle", "TimeZone", "timezone_abbreviations",
	"extra_float_digits", "bytea_output", "lc_monetary", "lc_numeric",
	"lc_time", "dp_pg.delta", "dp_pg.epsilon", "dp_pg.epsilon_ceiling",
	"dp_pg.epsilon_floor", "dp_pg.max_groups", "dp_pg.max_keys",
	"dp_pg.max_rows", "dp_pg.mechanism", "dp_pg.split",
	"dp_pg.suppress", "dp_pg.transparent",
};

/*
 * dp_reader_write_settings: write name and value of each, each ended by a zero
 * byte.
 */
void
dp_reader_write_settings(StringInfo out)
{
	int			i;

	for (i = 0; i < lengthof(settings); i++)
	{
		const char *value = GetConfigOption(settings[i], false, false);

		appendBinaryStringInfo(out, settings[i], strlen(settings[i]) + 1);
		appendBinaryStringInfo(out, value, strlen(value) + 1);
	}
}

/*
 * dp_reader_append_settings
 *	  Append all settings that an answer may depend on, as unambiguous text.
 */
void
dp_reader_append_settings(StringInfo out)
{
	int			i;

	for (i = 0; i < lengthof(settings); i++)
	{
		const char *value = GetConfigOption(settings[i], false, false);

		appendStringInfo(out, "\n%s %zu:%s", settings[i], strlen(value),
						 value);
	}
}

static const struct config_generic *
record_of(int i)
{
	static const struct config_generic *records[DP_SENT_SETTINGS];

	if (records[i] == NULL)
		records[i] = dp_bridge_find_setting(settings[i]);
	return records[i];
}

/* The value of a setting, unless it is a string. */
static int64
number_of(const struct config_generic *record)
{
	int64		bits = 0;

	switch (record->vartype)
	{
		case PGC_BOOL:
			return *((const struct config_bool *) record)->variable;
		case PGC_INT:
			return *((const struct config_int *) record)->variable;
		case PGC_REAL:
			memcpy(&bits, ((const struct config_real *) record)->variable,
				   sizeof(double));
			return bits;
		case PGC_ENUM:
			return *((const struct config_enum *) record)->variable;
		case PGC_STRING:
			break;
	}
	return bits;
}

/* The value of a setting that is a string. */
static const char *
text_of(const struct config_generic *record)
{
	const char *text = NULL;

	if (record->vartype == PGC_STRING)
		text = *((const struct config_string *) record)->variable;
	return text == NULL ? "" : text;
}

/*
 * dp_reader_note_settings
 *	  The current values that are not strings.
 */
void
dp_reader_note_settings(dp_sent_values *out)
{
	int			i;

	for (i = 0; i < lengthof(settings); i++)
		out->number[i] = number_of(record_of(i));
}

/*
 * dp_reader_same_settings
 *	  Are the settings still those that were noted and written? Looking up each
 *	  by name and writing it took a twelfth of the time of a small statement.
 */
bool
dp_reader_same_settings(const dp_sent_values *values, const char *written)
{
	int			i;

	for (i = 0; i < lengthof(settings); i++)
	{
		const struct config_generic *record = record_of(i);
		const char *value = written + strlen(settings[i]) + 1;

		if (values->number[i] != number_of(record) ||
			(record->vartype == PGC_STRING &&
			 strcmp(text_of(record), value) != 0))
			return false;
		written = value + strlen(value) + 1;
	}
	return true;
}
