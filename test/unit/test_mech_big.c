/*
 * test_mech_big.c
 *	  The context of integers of any size: what it remembers of a failure,
 *	  what its stack of numbers keeps, the ways in and out, that its end leaves
 *	  nothing in memory.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "dp_numbers.h"
#include "tap.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#define BIT(n) ((dp_uint128) 1 << (n))
#define HEADER 16				/* before each block: its size */
#define SECRET UINT64_C(0x5ec4e75ec4e75ec3)

static long live;				/* blocks not yet freed */
static int	leaked;				/* blocks freed with SECRET in them */

static void *
test_malloc(size_t n, const char *file, int line)
{
	char	   *p = malloc(n + HEADER);

	(void) file;
	(void) line;
	if (p == NULL)
		return NULL;
	memcpy(p, &n, sizeof(n));
	live++;
	return p + HEADER;
}

static void
test_free(void *block, const char *file, int line)
{
	char	   *p = block;
	uint64_t	word;
	size_t		n;
	size_t		i;

	(void) file;
	(void) line;
	if (p == NULL)
		return;
	memcpy(&n, p - HEADER, sizeof(n));
	for (i = 0; i + sizeof(word) <= n; i += sizeof(word))
	{
		memcpy(&word, p + i, sizeof(word));
		leaked += word == SECRET;
	}
	live--;
	free(p - HEADER);
}

static void *
test_realloc(void *block, size_t n, const char *file, int line)
{
	void	   *fresh = test_malloc(n, file, line);
	size_t		before;

	if (fresh != NULL && block != NULL)
	{
		memcpy(&before, (char *) block - HEADER, sizeof(before));
		memcpy(fresh, block, before < n ? before : n);
		test_free(block, file, line);
	}
	return fresh;
}

static void
test_cleansed(void)
{
	const uint64_t limbs[4] = {1, SECRET, 2, SECRET};
	uint64_t	back[4] = {0};
	dp_big		b;
	BIGNUM	   *x;
	BIGNUM	   *seen;
	long		before;
	int			canary;

	/* what is freed without being cleansed is noticed */
	seen = BN_new();
	if (seen == NULL || !BN_set_word(seen, SECRET))
		exit(2);
	BN_free(seen);
	canary = leaked;
	leaked = 0;
	before = live;
	dp_numbers_big_begin(&b);
	x = dp_numbers_big_of_limbs(&b, limbs, 4);
	big_assign(&b, x, big_add_word(&b, x, 0));
	(void) big_divide(&b, big_multiply(&b, x, x), x);
	dp_numbers_big_get_limbs(&b, x, back, 4);
	tap_ok(dp_numbers_big_end(&b) == DP_OK &&
		   memcmp(limbs, back, sizeof(back)) == 0,
		   "four limbs in and out");
	tap_ok(canary > 0 && leaked == 0 && live == before,
		   "the end frees all numbers and leaves none of them in memory");
}

static void
test_converter(void)
{
	static const dp_uint128 number[] = {0, 1, UINT64_MAX, BIT(64),
	BIT(64) + 1, BIT(127), ~(dp_uint128) 0};
	uint64_t	limb = 7;
	dp_big		b;
	BIGNUM	   *x;
	size_t		i;
	bool		good = true;

	dp_numbers_big_begin(&b);
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		good = good && dp_numbers_big_get(&b,
										  big_of(&b, number[i])) == number[i];
	tap_ok(good, "128 bits in and out");
	x = big_add_word(&b, big_of(&b, ~(dp_uint128) 0), 1);
	tap_ok(dp_numbers_big_get(&b, x) == ~(dp_uint128) 0 && b.status == DP_OK,
		   "129 bits saturate");
	dp_numbers_big_get_limbs(&b, big_of(&b, BIT(64)), &limb, 1);
	tap_ok(limb == 7 && dp_numbers_big_end(&b) == DP_E_OVERFLOW,
		   "65 bits do not fit a limb");
	dp_numbers_big_begin(&b);
	x = big_subtract(&b, big_of(&b, 0), big_of(&b, 1));
	tap_ok(big_is_negative(&b, x) && dp_numbers_big_get(&b, x) == 0 &&
		   dp_numbers_big_end(&b) == DP_E_OVERFLOW,
		   "a negative number does not fit");
}

static void
test_failure(void)
{
	dp_big		b;
	BIGNUM	   *x;
	uint64_t	limb = 7;
	int			i;

	dp_numbers_big_begin(&b);
	x = big_of(&b, 5);
	tap_ok(dp_numbers_big_check(&b, DP_OK) &&
		   !dp_numbers_big_check(&b, DP_E_RANGE) &&
		   !dp_numbers_big_check(&b, DP_E_RANDOM) &&
		   !dp_numbers_big_check(&b, DP_OK),
		   "a failed context stays so");
	dp_numbers_big_get_limbs(&b, x, &limb, 1);
	tap_ok(dp_numbers_big_new(&b) == NULL && big_add(&b, x, x) == NULL &&
		   dp_numbers_big_exp(&b, x, x, 64, DP_ROUND_UP) == NULL &&
		   dp_numbers_big_log(&b, x, x, 64, DP_ROUND_UP) == NULL &&
		   dp_numbers_big_root(&b, x, DP_ROUND_UP) == NULL &&
		   dp_numbers_big_over_sinh(&b, x, x, 64) == NULL,
		   "it computes nothing, and every loop ends");
	tap_ok(big_is_zero(&b, x) && !big_is_negative(&b, x) &&
		   big_compare(&b, x, NULL) == 0 && big_bits(&b, x) == 0 &&
		   dp_numbers_big_get(&b, x) == 0 && limb == 7,
		   "and its numbers are zero");
	tap_ok(dp_numbers_big_end(&b) == DP_E_RANGE,
		   "its status is the first failure");

	dp_numbers_big_begin(&b);
	(void) big_divide(&b, big_of(&b, 1), big_of(&b, 0));
	tap_ok(dp_numbers_big_end(&b) == DP_E_MEMORY,
		   "what OpenSSL refuses is a failure");

	dp_numbers_big_begin(&b);
	for (i = 0; i < DP_BIG_NUMBERS; i++)
		(void) big_of(&b, 1);
	tap_ok(b.status == DP_OK && dp_numbers_big_new(&b) == NULL &&
		   dp_numbers_big_end(&b) == DP_E_MEMORY, "so are numbers too many");
}

static void
test_stack(void)
{
	dp_big		b;
	BIGNUM	   *x;
	BIGNUM	   *y;
	unsigned	mark;
	int			i;

	dp_numbers_big_begin(&b);
	x = big_of(&b, 2);
	mark = b.used;
	for (i = 0; i < 10 * DP_BIG_NUMBERS; i++)
	{
		(void) big_of(&b, 77);
		y = big_add(&b, big_of(&b, 40), x);
		(void) big_of(&b, 78);
		y = big_keep(&b, mark, y);
		(void) big_of(&b, 79);
		if (dp_numbers_big_get(&b, y) != 42 || dp_numbers_big_get(&b, x) != 2)
			break;
		big_release(&b, mark);
	}
	tap_ok(i == 10 * DP_BIG_NUMBERS && b.made < 8,
		   "what is kept stays, what is given back is used again");
	tap_ok(big_keep(&b, mark, x) == x && dp_numbers_big_get(&b, x) == 2 &&
		   b.used == mark, "older numbers may be kept");
	tap_ok(dp_numbers_big_get(&b, dp_numbers_big_root(&b, big_of(&b, 0),
													  DP_ROUND_DOWN)) == 0 &&
		   dp_numbers_big_get(&b, dp_numbers_big_root(&b, big_of(&b, 24),
													  DP_ROUND_DOWN)) == 4 &&
		   dp_numbers_big_get(&b, dp_numbers_big_root(&b, big_of(&b, 25),
													  DP_ROUND_UP)) == 6,
													  "roots");
	tap_ok(dp_numbers_big_end(&b) == DP_OK, "nothing failed");
}

int
main(void)
{
	if (CRYPTO_set_mem_functions(test_malloc, test_realloc, test_free) != 1)
		return 2;
	test_cleansed();
	test_converter();
	test_failure();
	test_stack();
	return tap_done();
}
