package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
)

func main() {
	ctx := context.Background()
	verifier, err := NewVerifier(ctx, os.Getenv("ISSUER"), os.Getenv("LOGIN_APP_ID"))
	if err != nil {
		log.Fatal(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := LoginUser(ctx, verifier, lines.Text()); err != nil {
			fmt.Printf("rejected: %q\n", err.Error())
		} else {
			fmt.Println("accepted")
		}
	}
}
