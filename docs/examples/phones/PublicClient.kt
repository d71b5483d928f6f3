import java.security.KeyPair
import java.security.Signature
import java.security.interfaces.ECPublicKey
import java.util.Base64
import java.util.UUID
import okhttp3.FormBody
import okhttp3.OkHttpClient
import org.json.JSONObject

/**
 * A public client (RFC 9449): it has no secret, and proves the key of this phone to the service.
 * @param service the address of the login service
 * @param appToken the long-lived Login App Token that the app contains
 * @param phoneKey makes or finds the key, of P-256, which never leaves the Keystore
 */
class PublicClient(
    service: String,
    private val clientId: String,
    private val appToken: String,
    private val http: OkHttpClient = OkHttpClient(),
    phoneKey: () -> KeyPair,
) : TokenSource {
    private val oauth = "$service/v2/marketing/oauth"
    private val key by lazy(phoneKey)

    /** The claim of the next proof: each answer has it, and it outlives the access token by ten minutes. */
    @Volatile private var proofNonce: String? = null

    override suspend fun nonce(): String = http.send("POST", "$oauth/nonce", form(emptyMap())).getString("nonce")

    override suspend fun logIn(credential: Map<String, String>): JSONObject =
        token("provider_credentials", credential + ("provider" to "provider_f"))

    override suspend fun guest(): JSONObject = token("guest", emptyMap())

    override suspend fun refresh(refreshToken: String): JSONObject =
        token("refresh_token", mapOf("refresh_token" to refreshToken))

    override suspend fun logOut(refreshToken: String) {
        prove("revoke", mapOf("token" to refreshToken))
    }

    override suspend fun appToken(): String = appToken

    private suspend fun token(grantType: String, fields: Map<String, String>) =
        prove("token", fields + ("grant_type" to grantType))

    /** Sends a form with a proof. */
    private suspend fun prove(endpoint: String, fields: Map<String, String>): JSONObject = try {
        proveOnce(endpoint, fields)
    } catch (problem: ServiceException) {
        // The service wants its latest nonce, or the network has sent a proof twice: the same request with a new proof.
        if (problem.code !in setOf("use_dpop_nonce", "invalid_dpop_proof")) throw problem
        proveOnce(endpoint, fields)
    }

    private suspend fun proveOnce(endpoint: String, fields: Map<String, String>): JSONObject {
        val url = "$oauth/$endpoint"
        return http.send("POST", url, form(fields), "DPoP" to proof("POST", url)) { answer ->
            proofNonce = answer.header("DPoP-Nonce") ?: proofNonce
        }
    }

    private fun form(fields: Map<String, String>): FormBody {
        val form = FormBody.Builder().add("client_id", clientId)
        for ((name, value) in fields) form.add(name, value)
        return form.build()
    }

    override suspend fun proof(method: String, url: String): String {
        val header = JSONObject().put("typ", "dpop+jwt").put("alg", "ES256").put("jwk", publicJwk())
        val claims = JSONObject().put("jti", UUID.randomUUID().toString()).put("htm", method).put("htu", url)
            .put("iat", System.currentTimeMillis() / 1000).put("nonce", proofNonce)
        val text = listOf(header, claims).joinToString(".") { base64Url(it.toString().encodeToByteArray()) }
        val signature = Signature.getInstance("SHA256withECDSA").run {
            initSign(key.private)
            update(text.encodeToByteArray())
            sign()
        }
        return "$text.${base64Url(jwtSignature(signature))}"
    }

    private fun publicJwk(): JSONObject {
        val (x, y) = (key.public as ECPublicKey).w.run { listOf(affineX, affineY) }
            .map { base64Url(in32Bytes(it.toByteArray())) }
        return JSONObject().put("kty", "EC").put("crv", "P-256").put("x", x).put("y", y)
    }

    /** @param der SEQUENCE, its length, INTEGER, its length, r, INTEGER, its length, s (RFC 3279) */
    private fun jwtSignature(der: ByteArray): ByteArray {
        fun number(at: Int) = in32Bytes(der.copyOfRange(at + 1, at + 1 + der[at]))
        return number(3) + number(3 + 1 + der[3] + 1)
    }

    private fun in32Bytes(number: ByteArray) = (ByteArray(32) + number).takeLast(32).toByteArray()

    private fun base64Url(bytes: ByteArray): String = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes)
}
