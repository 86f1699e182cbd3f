// Package near answers: which word did somebody mean who typed another one?
package near

// Word returns the first of the words that are nearest to what was typed, if it
// is at most that many edits away, else "". Letter cases are different
// characters.
func Word(typed string, words []string, edits int) string {
	best, least := "", edits+1
	for _, w := range words {
		if d := distance(typed, w); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance counts the bytes to insert, delete or replace, Levenshtein's
// distance. It costs the product of the lengths.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
