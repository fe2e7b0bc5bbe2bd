/*
 * reader_work.c
 *	  The part of a release that happens where the rows are read.
 *
 * The connection sends the block with its parameters and the public values of
 * its keys, and the reader prepares the release again: grids, sensitivities
 * and noise follow from the block, the parameters, settings and declarations,
 * all public.  A declaration that changed in between, so that the release
 * costs or measures something else, is noticed before anything is charged,
 * since the charge and the exact aggregates must be the same, and how much
 * finer than the rows' their granules are: a grid of 128 points in granules
 * that are 2^13 times finer is the same as one of 2^20 points.  Sending the
 * result instead would spare a few microseconds, about as many as comparing
 * versions of declarations takes, and a reader would have to believe what it
 * is sent.  The groups are not decided again: the plan and the cells must
 * agree on them, and conditions may depend on settings that only the
 * connection has.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "../../math/accounting/dp_accounting.h"
#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/units/dp_units.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../joined/dp_joined.h"
#include "../prepare/dp_prepare.h"
#include "../answers/dp_answers.h"
#include "run_internal.h"

#define INPUT_FIELD(kind, name) DP_NODE_FIELD(dp_release_input, kind, name)

static const dp_node_field input_fields[] = {
	INPUT_FIELD(DP_FIELD_NODE, block),
	INPUT_FIELD(DP_FIELD_NODE, arguments),
	INPUT_FIELD(DP_FIELD_NODE, domains),
	INPUT_FIELD(DP_FIELD_NODE, aggregates),
	INPUT_FIELD(DP_FIELD_NODE, fine),
	INPUT_FIELD(DP_FIELD_NODE, types)
};

static const dp_node_type input_type =
DP_NODE_TYPE(dp_release_input, input_fields);

/* What else the connection knows, without pointers. */
typedef struct release_data
{
	dp_ledger_standing standing;
	dp_charge	charge;
	dp_unit_bounds bounds;
	dp_joined_sizes joined;
	int			workers;		/* number of those that hand rows over */
} release_data;

typedef struct release_work
{
	dp_cells   *cells;
	dp_named_stores *named;		/* or NULL */
	TupleDesc	result;
} release_work;

/* How much finer than those of rows the granules of each measurement are. */
static List *
list_fine(const dp_release_spec *spec)
{
	List	   *fine = NIL;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
		fine = lappend_int(fine, spec->measures[i].bound.fine);
	return fine;
}

/* ---- the connection's side ---- */

/*
 * What the seeds of plans are mixed with, since debug_print_plan shows them:
 * ranks are secret (doc/theory.md T79), and the same for all plans of a
 * process that have one seed.
 */
static int64
secret_of_process(void)
{
	static bool drawn = false;
	static int64 secret;

	if (!drawn)
		dp_base_check_status(dp_noise_random_bytes(dp_base_source(), &secret,
												   sizeof(secret)),
							 "draw a seed");
	drawn = true;
	return secret;
}

/*
 * dp_run_fill_job
 *	  Fill in what a reader needs for a release beside its plans, in the
 *	  current context; the caller adds the request.
 */
void
dp_run_fill_job(const dp_release *release, dp_reader_job *job)
{
	const dp_release_spec *spec = release->spec;
	release_data *data = palloc0(sizeof(release_data));
	dp_block   *block = palloc(sizeof(dp_block));
	dp_release_input *input = dp_make_node(dp_release_input);
	int			i;

	*block = *spec->block;
	block->subqueries = NIL;	/* they have been run */
	block->seed ^= secret_of_process();
	input->block = block;
	input->arguments = spec->arguments;
	for (i = 0; i < spec->nkeys + list_length(block->others); i++)
		input->domains = lappend(input->domains,
								 dp_domains_to_list(spec->domains[i]));
	input->aggregates = spec->exact;
	input->fine = list_fine(spec);
	for (i = 0; i < release->result->natts; i++)
		input->types = lappend_oid(input->types,
								   TupleDescAttr(release->result,
												 i)->atttypid);
	data->standing = *release->standing;
	data->charge = spec->charge;
	data->bounds.rows = spec->max_rows;
	data->bounds.keys = spec->max_keys;
	data->bounds.total = spec->max_total;
	if (spec->quarters == DP_QUARTERS_MEASURED)
		data->bounds.total_from = DP_BOUND_MEASURED;
	data->joined = release->sizes;
	data->workers = dp_reader_pack_workers(job->plan);
	job->kind = DP_READER_RELEASE;
	job->input = (Node *) input;
	job->data = data;
	job->size = sizeof(release_data);
	job->local = release->standing->exempt;
	if (release->joined != NULL)
	{
		job->source = dp_joined_next;
		job->source_context = release->joined;
	}
}

/* ---- where the rows are read ---- */

static TupleDesc
make_descriptor(const List *types)
{
	TupleDesc	result = CreateTemplateTupleDesc(list_length(types));
	ListCell   *lc;

	foreach(lc, types)
		TupleDescInitEntry(result, foreach_current_index(lc) + 1, NULL,
						   lfirst_oid(lc), -1, 0);
	return result;
}

/* Whether it is the charge, or, if the total was measured, enough for any. */
static bool
pays_for(const dp_charge *charge, const dp_release_spec *spec)
{
	const dp_charge *own = &spec->charge;

	if (spec->quarters == DP_QUARTERS_MEASURED)
		return own->epsilon <= charge->epsilon && own->rho <= charge->rho &&
			own->delta <= charge->delta;
	return own->epsilon == charge->epsilon && own->rho == charge->rho &&
		own->delta == charge->delta;
}

static void *
begin(const Node *sent, const void *data, dp_reader_source source,
	  void *context)
{
	const release_data *asked = data;
	const dp_release_input *input = (const dp_release_input *) sent;
	const dp_charge *charge = &asked->charge;
	int			location;		/* unused: there is no query text */
	List	   *domains = NIL;
	dp_release_spec *spec;
	release_work *work = palloc0(sizeof(release_work));
	dp_gather_limits limits = {0};
	ListCell   *lc;

	foreach(lc, input->domains)
		domains = lappend(domains, dp_domains_from_list(lfirst(lc)));
	spec = dp_prepare_release(input->block, &asked->standing, input->arguments,
							  domains, &asked->bounds, GetActiveSnapshot(),
							  &location);
	if (!pays_for(charge, spec) ||
		!equal(spec->exact, input->aggregates) ||
		!equal(list_fine(spec), input->fine))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("declarations of a private relation changed while it "
						"was asked")));
	/* the workers' processors are free when helpers choose */
	work->cells = dp_aggregates_cells_create(spec, asked->workers);
	work->result = make_descriptor(input->types);
	limits.fanout = asked->joined.fanout;
	if (spec->many)
		dp_joined_set_levels(input->block, dp_aggregates_row_bytes(spec),
							 asked->joined.widest, &limits);
	work->named = dp_joined_named_create(input->block, &limits, source,
										 context);
	return work;
}

static QueryEnvironment *
environment(void *state)
{
	release_work *work = state;

	return work->named == NULL ? NULL : dp_joined_environment(work->named);
}

static DestReceiver *
scan(void *state, int n)
{
	return dp_joined_named_scan(((release_work *) state)->named, n);
}

static bool
next(void *state)
{
	release_work *work = state;

	dp_aggregates_cells_end_part(work->cells);
	return dp_joined_named_next(work->named);
}

static DestReceiver *
receiver(void *state)
{
	return dp_aggregates_cells_receiver(((release_work *) state)->cells);
}

static void
finish(void *state, dp_reader_sink sink, void *context)
{
	release_work *work = state;

	dp_aggregates_cells_release(work->cells, work->result, sink, context);
}

static const dp_reader_methods methods = {
	.begin = begin,
	.environment = environment,
	.scan = scan,
	.next = next,
	.receiver = receiver,
	.finish = finish
};

/* dp_run_work_init: from _PG_init, in every process. */
void
dp_run_work_init(void)
{
	RegisterExtensibleNodeMethods(&input_type.methods);
	dp_reader_register(DP_READER_RELEASE, &methods);
}
