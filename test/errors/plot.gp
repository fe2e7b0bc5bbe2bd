# Pictures of errors.md.  Colours are of middle lightness and the background is
# clear, so that they can be read on white and on black.
set terminal svg size 680,420 font 'sans-serif,13' noenhanced
grey = '#7a7a7a'
set border 3 linecolor rgb grey
set xtics nomirror textcolor rgb grey
set ytics nomirror textcolor rgb grey
set xlabel textcolor rgb grey
set ylabel textcolor rgb grey
set title textcolor rgb grey
set key outside right top textcolor rgb grey
set format y '%g'
set grid linecolor rgb grey linewidth 0.3
set style data linespoints
set linetype 1 linecolor rgb '#d9662b' linewidth 2 pointtype 7 pointsize 0.6
set linetype 2 linecolor rgb '#2a9d6f' linewidth 2 pointtype 5 pointsize 0.6
set linetype 3 linecolor rgb '#7a75c9' linewidth 2 pointtype 9 pointsize 0.7
set linetype 4 linecolor rgb '#d64590' linewidth 2 pointtype 11 pointsize 0.7
set linetype 5 linecolor rgb '#3d8fd1' linewidth 2 pointtype 13 pointsize 0.7
set linetype 6 linecolor rgb '#a88a1d' linewidth 2 pointtype 4 pointsize 0.6

# The column y of the lines that a pattern chooses, against the column x.
pick(p, x, y) = sprintf("< grep -E '^%s ' plot.data | awk '{print $%d, $%d}'", \
	p, x, y)
any = '[^ ]+'

# 1. A count, asked of the server and of the people.
set output out.'/errors-count.svg'
set logscale xy
set xtics (0.1, 0.5, 1, 2)
set xrange [0.09:2.2]
set title 'How far a count is off'
set xlabel 'epsilon'
set ylabel 'root mean square error (people)'
plot pick('dp_count laplace adult 48842', 5, 6) title 'Laplace, any n', \
	pick('dp_count gaussian adult 48842', 5, 6) title 'Gaussian, any n', \
	pick('dp_randomized_response local adult 1000', 5, 6) \
		title 'local model, n = 1,000', \
	pick('dp_randomized_response local adult 10000', 5, 6) \
		title 'local model, n = 10,000', \
	pick('dp_randomized_response local adult 48842', 5, 6) \
		title 'local model, n = 48,842'

# 2. A mean, against the number of people.
set output out.'/errors-avg.svg'
unset xrange
set xtics autofreq
set xrange [900:60000]
set xtics ('1,000' 1000, '10,000' 10000, '50,000' 50000)
set title 'How far a mean is off, epsilon 0.5'
set xlabel 'rows'
set ylabel 'root mean square error / width of the bounds'
plot pick('dp_avg laplace adult '.any.' 0.5', 4, 7) \
		title 'adult, Laplace', \
	pick('dp_avg laplace randhie '.any.' 0.5', 4, 7) \
		title 'randhie, Laplace', \
	pick('dp_avg laplace flights '.any.' 0.5', 4, 7) \
		title 'flights, Laplace', \
	pick('dp_avg gaussian adult '.any.' 0.5', 4, 7) \
		title 'adult, Gaussian', \
	pick('dp_avg gaussian randhie '.any.' 0.5', 4, 7) \
		title 'randhie, Gaussian', \
	pick('dp_avg gaussian flights '.any.' 0.5', 4, 7) \
		title 'flights, Gaussian'

# 3. Quantiles of a thousand rows.
set output out.'/errors-quantile.svg'
unset logscale
set logscale x
unset xrange
set xtics (0.1, 0.5, 1, 2)
set xrange [0.09:2.2]
set yrange [0:*]
set title 'How far a quantile of 1,000 rows is off'
set xlabel 'epsilon'
plot pick('dp_median exponential adult 1000', 5, 7) title 'adult, median', \
	pick('dp_median exponential randhie 1000', 5, 7) \
		title 'randhie, median', \
	pick('dp_median exponential flights 1000', 5, 7) \
		title 'flights, median', \
	pick('dp_quantile0.9 exponential adult 1000', 5, 7) \
		title 'adult, 0.9', \
	pick('dp_quantile0.9 exponential randhie 1000', 5, 7) \
		title 'randhie, 0.9', \
	pick('dp_quantile0.9 exponential flights 1000', 5, 7) \
		title 'flights, 0.9'

# 4. The most frequent kind of a thousand rows.
set output out.'/errors-argmax.svg'
set yrange [0:1]
set title 'How often the argmax of 1,000 rows is wrong'
set ylabel 'fraction of answers'
plot pick('dp_argmax permute-and-flip adult 1000', 5, 8) \
		title 'adult, permute-and-flip', \
	pick('dp_argmax permute-and-flip randhie 1000', 5, 8) \
		title 'randhie, permute-and-flip', \
	pick('dp_argmax permute-and-flip flights 1000', 5, 8) \
		title 'flights, permute-and-flip', \
	pick('dp_argmax exponential adult 1000', 5, 8) \
		title 'adult, exponential', \
	pick('dp_argmax exponential randhie 1000', 5, 8) \
		title 'randhie, exponential', \
	pick('dp_argmax exponential flights 1000', 5, 8) \
		title 'flights, exponential'
