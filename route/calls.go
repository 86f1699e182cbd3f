package route

// Calls tells for each statement of a text whether it is one that may have several results, such as
// CALL. Empty statements, which have none, are not in the list.
func Calls(text string, o *Options) []bool {
	all := walk(text, o)
	calls := make([]bool, 0, len(all))
	for _, w := range all {
		st := w.statement(&Statement{Count: len(all) + 1}, o)
		calls = append(calls, st.Class == Call)
	}
	return calls
}
