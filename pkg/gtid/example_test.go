package gtid_test

import (
	"errors"
	"fmt"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

const (
	primaryUUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	replicaUUID = "a5d8c5c2-71ca-11e1-9e33-c80aa9429562"
)

func mustParse(s string) gtid.Set {
	set, err := gtid.Parse(s)
	if err != nil {
		panic(err)
	}
	return set
}

// What a person writes is read as the server reads it, and printed as the server prints it.
func ExampleParse() {
	set, err := gtid.Parse("{3E11FA47-71CA-11E1-9E33-C80AA9429562} : 1-5 : 6-10 : 20")
	if err != nil {
		fmt.Println(err)
		return
	}
	n, _ := set.Count()
	fmt.Println(set)
	fmt.Println(n, "transactions")
	// Output:
	// 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-10:20
	// 11 transactions
}

// A program that was given a reversed interval would rather hear of it than wait for nothing.
func ExampleParseStrict() {
	text := primaryUUID + ":5-3"
	set, err := gtid.Parse(text)
	fmt.Printf("Parse: %q, %v\n", set, err)

	_, err = gtid.ParseStrict(text)
	var malformed *gtid.ParseError
	if errors.As(err, &malformed) {
		fmt.Printf("ParseStrict: at byte %d: %s\n", malformed.Offset, malformed.Msg)
	}
	// Output:
	// Parse: "", <nil>
	// ParseStrict: at byte 37: reversed interval, which servers drop
}

// A dump says which transactions are in it with a statement.
func ExampleParseLenient() {
	set, err := gtid.ParseLenient("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '" + primaryUUID + ":1-77';")
	fmt.Println(set, err)
	// Output: 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77 <nil>
}

// Two sets can each have what the other lacks, so neither is "less".
func ExampleSet_Contains() {
	primary := mustParse(primaryUUID + ":1-100")
	replica := mustParse(primaryUUID + ":1-90," + replicaUUID + ":1")
	fmt.Println(primary.Contains(replica), replica.Contains(primary))
	fmt.Println(replica.Contains(mustParse(primaryUUID + ":17-20")))
	// Output:
	// false false
	// true
}

// What is only on a replica and did not come from the primary was written there by mistake.
func ExampleSet_Without() {
	primary := mustParse(primaryUUID + ":1-100")
	replica := mustParse(primaryUUID + ":1-101," + replicaUUID + ":1")
	uuid, err := gtid.ParseUUID(primaryUUID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(replica.Subtract(primary).Without(uuid))
	// Output: a5d8c5c2-71ca-11e1-9e33-c80aa9429562:1
}

// On MariaDB a position names the last transaction of each domain; which server wrote it counts for nothing.
func ExampleDomainPos() {
	replica, err := gtid.ParseDomainPos("0-1-100,1-2-7")
	if err != nil {
		fmt.Println(err)
		return
	}
	primary, err := gtid.ParseDomainPos("0-3-120,1-2-7")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("reached:", replica.Reached(primary))
	for _, gap := range replica.Behind(primary) {
		fmt.Printf("domain %d: %d of %d, up to %d missing\n", gap.Domain, gap.Have, gap.Want, gap.Len())
	}
	// Output:
	// reached: false
	// domain 0: 100 of 120, up to 20 missing
}

// A program that serves both flavors keeps positions as Values, which know of what kind they are.
func ExampleValue() {
	for _, pair := range [][2]string{
		{primaryUUID + ":1-10", primaryUUID + ":8-12"},
		{"0-1-10", "0-1-12"},
		{primaryUUID + ":1-10", "0-1-12"},
	} {
		have, err := gtid.ParseValue(pair[0])
		if err != nil {
			fmt.Println(err)
			return
		}
		want, err := gtid.ParseValue(pair[1])
		if err != nil {
			fmt.Println(err)
			return
		}
		missing, err := have.Missing(want)
		switch n, _, _ := have.MissingCount(want); {
		case errors.Is(err, gtid.ErrMixed):
			fmt.Println(have.Kind(), "and", want.Kind(), "cannot be compared; has:", have.Has(want))
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Printf("%s lacks %d: %s\n", have.Kind(), n, missing)
		}
	}
	// Output:
	// MySQL GTID set lacks 2: 3e11fa47-71ca-11e1-9e33-c80aa9429562:11-12
	// MariaDB position lacks 2: 0-1-12
	// MySQL GTID set and MariaDB position cannot be compared; has: false
}
