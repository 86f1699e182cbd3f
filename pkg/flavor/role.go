package flavor

import "strings"

// PrimaryWord says whether a word that a client wrote in a hint means the
// server that takes writes, in the old word or the new one, in any letter case.
func PrimaryWord(word string) bool {
	return strings.EqualFold(word, "primary") || strings.EqualFold(word, "master")
}

// ReplicaWord is PrimaryWord for a server that applies another one's log.
func ReplicaWord(word string) bool {
	return strings.EqualFold(word, "replica") || strings.EqualFold(word, "slave")
}
