package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
)

func main() {
	ctx := context.Background()
	verifier := NewVerifier(os.Getenv("ISSUER"), os.Getenv("LOGIN_APP_ID"))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if lines.Text() == "" {
			// As if five minutes had passed.
			keysLast = 0
			continue
		}
		if _, err := LoginUser(ctx, verifier, lines.Text()); err != nil {
			fmt.Printf("rejected: %q\n", err.Error())
		} else {
			fmt.Println("accepted")
		}
	}
}
