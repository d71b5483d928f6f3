import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtException;

class Verify {
  public static void main(String[] arguments) throws Exception {
    JwtDecoder decoder = new LoginUserTokens().jwtDecoder(System.getenv("ISSUER"), System.getenv("LOGIN_APP_ID"));
    for (String token : new BufferedReader(new InputStreamReader(System.in)).lines().toList()) {
      try {
        decoder.decode(token);
        System.out.println("accepted");
      } catch (JwtException error) {
        System.out.println("rejected: " + error.getMessage().replace('\n', ' '));
      }
    }
  }
}
