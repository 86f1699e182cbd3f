package near

import "testing"

func TestWord(t *testing.T) {
	words := []string{"max-lag", "max-age", "zone"}
	tests := []struct {
		typed string
		edits int
		want  string
	}{
		{"max-lag", 0, "max-lag"},
		{"max-log", 0, ""},
		{"max-log", 1, "max-lag"},
		{"mx-lg", 2, "max-lag"},
		{"mx-lg", 1, ""},
		{"max-aag", 2, "max-lag"}, // the first of two that are as near
		{"zonne", 1, "zone"},
		{"", 3, ""},
		{"", 4, "zone"},
	}
	for _, test := range tests {
		if got := Word(test.typed, words, test.edits); got != test.want {
			t.Errorf("Word(%q, %d) = %q, want %q", test.typed, test.edits, got, test.want)
		}
	}
	if got := Word("x", nil, 3); got != "" {
		t.Errorf("without words: %q", got)
	}
}
