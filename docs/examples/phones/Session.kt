import java.io.IOException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import okhttp3.FormBody
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody
import okhttp3.RequestBody.Companion.toRequestBody
import okhttp3.Response
import org.json.JSONException
import org.json.JSONObject

/** Secure storage of the phone: texts by name. What it sets is stored when it returns. */
interface Vault {
    fun get(name: String): String?
    fun set(name: String, value: String?)
}

/** Whom the app asks for tokens: your backend or, without one, the service itself (PublicClient.kt). */
interface TokenSource {
    suspend fun nonce(): String
    suspend fun logIn(credential: Map<String, String>): JSONObject

    /** Tokens of a new guest. */
    suspend fun guest(): JSONObject
    suspend fun refresh(refreshToken: String): JSONObject
    suspend fun logOut(refreshToken: String)

    /** The header `DPoP` of a request of a guest; null with a backend, whose sessions are bound to no key. */
    suspend fun proof(method: String, url: String): String? = null

    /** A Login App Token, with which devices register. */
    suspend fun appToken(): String
}

/** Your backend at an address: backend.mjs or the like. */
class Backend(private val address: String, private val http: OkHttpClient = OkHttpClient()) : TokenSource {
    override suspend fun nonce(): String = send("nonce").getString("nonce")
    override suspend fun logIn(credential: Map<String, String>) = send("login", credential)
    override suspend fun guest() = send("guest")
    override suspend fun refresh(refreshToken: String) = send("refresh", mapOf("refresh_token" to refreshToken))
    override suspend fun appToken(): String = send("app-token").getString("access_token")
    override suspend fun logOut(refreshToken: String) {
        send("logout", mapOf("refresh_token" to refreshToken))
    }

    private suspend fun send(endpoint: String, fields: Map<String, String> = emptyMap()) =
        http.send("POST", "$address/$endpoint", jsonOf(JSONObject(fields)))
}

/**
 * An answer that is no success.
 * @property code the `error` of the service, such as `invalid_token`
 */
class ServiceException(val status: Int, val code: String) : IOException("$status $code")

/** Nobody is logged in, or the session is over: show the login. */
class LoggedOutException : IOException("Nobody is logged in.")

/** Somebody has logged in with another account than the one that was to be deleted. */
class AnotherAccountException : IOException("This is another account.")

/**
 * The login of one person. Make one for the whole app.
 * @param service the address of the login service
 */
class Session(
    private val source: TokenSource,
    private val service: String,
    private val vault: Vault,
    private val http: OkHttpClient = OkHttpClient(),
) {
    /** Lets what reads and writes the tokens run one after the other. */
    private val turn = Mutex()

    /** A nonce for one login. */
    suspend fun nonce(): String = source.nonce()

    /** Begins as a guest, unless somebody is logged in, or a guest is there. Call it when there is something to keep. */
    suspend fun beginAsGuest() {
        inTurn { if (kept() == null) keep(source.guest()) }
    }

    /**
     * Makes the guest a person, who has the same account from now on.
     * @throws ServiceException `conflict` if the person has an account already: ask whether to [mergeGuest] into it
     */
    suspend fun linkGuest(idToken: String, nonce: String, code: String = "", user: String = "") {
        val form = FormBody.Builder().add("provider", "provider_f").add("id_token", idToken).add("nonce", nonce)
            .add("authorization_code", code).add("user", user).build()
        val (token) = sendAsGuest("POST", "$USER/identities", form)
        accessToken(rejected = token) // The next one has no mark of a guest.
    }

    /**
     * Merges the guest into the account that the person has, whom the phone is logged in as from then on. They sign in
     * again for it. Returns the account with `merged_from`, so that your servers can move what they have of the guest.
     */
    suspend fun mergeGuest(idToken: String, nonce: String): JSONObject {
        val form = FormBody.Builder().add("keep", "theirs").add("provider", "provider_f").add("id_token", idToken)
            .add("nonce", nonce).build()
        val (_, account) = sendAsGuest("POST", "$USER/merge", form)
        val tokens = JSONObject().put("access_token", "").put("refresh_token", account.optString("refresh_token"))
        if (account.has("refresh_token")) inTurn { keep(tokens.put("expires_in", 0)) }
        accessToken() // The first one of that account.
        return account
    }

    /** Logs in. Apple gives a code with each id token, and at the first login what it knows of the person. */
    suspend fun logIn(idToken: String, nonce: String, code: String = "", user: String = "") {
        val credential = mapOf("id_token" to idToken, "nonce" to nonce, "authorization_code" to code, "user" to user)
        inTurn { keep(source.logIn(credential)) }
    }

    /** Ends the session, and forgets it even if the phone is offline. */
    suspend fun logOut() {
        inTurn {
            val tokens = kept()
            vault.set("tokens", null)
            tokens?.let { source.logOut(it.getString("refresh_token")) }
        }
    }

    /** A valid access token, for your own endpoints too. @param rejected one that got a 401, so that another is needed */
    suspend fun accessToken(rejected: String? = null): String = inTurn {
        val tokens = kept() ?: throw LoggedOutException()
        val token = tokens.getString("access_token")
        val isFresh = tokens.getLong("expires_at") - System.currentTimeMillis() > EARLY && token != rejected
        if (isFresh) token else refresh(tokens)
    }

    /**
     * A request to the login service as the person.
     * @throws ServiceException `insufficient_user_authentication`: log in again, and repeat it
     */
    suspend fun call(method: String, path: String, body: JSONObject? = null): JSONObject {
        val token = accessToken()
        return try {
            send(method, service + path, body, token)
        } catch (problem: ServiceException) {
            if (problem.code != "invalid_token") throw problem
            send(method, service + path, body, accessToken(rejected = token))
        }
    }

    /** Registers this phone and relates it to the person. @param device its fields, without the platform */
    suspend fun registerDevice(device: JSONObject) {
        val app = source.appToken()
        val registration = JSONObject().put("device", device.put("platform", "android"))
        val id = send("POST", "$service/v2/marketing/push_notifications/devices", registration, app).getString("id")
        call("POST", "$USER/push_notifications/devices", JSONObject().put("device_id", id))
    }

    /** Deletes the account. The service wants a login of the last 15 minutes for that. */
    suspend fun deleteAccount(logInAgain: suspend () -> Unit) {
        val account = call("GET", USER)
        if (account.optBoolean("guest")) {
            sendAsGuest("DELETE", USER, jsonOf(JSONObject()))
            return
        }
        try {
            call("DELETE", USER)
        } catch (problem: ServiceException) {
            if (problem.code != "insufficient_user_authentication") throw problem
            logInAgain()
            if (call("GET", USER).getString("id") != account.getString("id")) throw AnotherAccountException()
            call("DELETE", USER)
        }
    }

    /**
     * Sends what a person does after a recent login: with an access token that has just been issued, and a proof of the
     * phone's key, for which the refresh has brought the nonce. Returns the token and the answer.
     */
    private suspend fun sendAsGuest(method: String, path: String, body: RequestBody): Pair<String, JSONObject> {
        val token = accessToken(rejected = accessToken())
        val proof = source.proof(method, service + path)?.let { "DPoP" to it }
        val headers = listOfNotNull("Authorization" to "Bearer $token", proof)
        return token to http.send(method, service + path, body, *headers.toTypedArray())
    }

    /** If the answer gets lost, the next call sends the same refresh token, and gets the same successor. */
    private suspend fun refresh(tokens: JSONObject): String = try {
        keep(source.refresh(tokens.getString("refresh_token")))
    } catch (problem: ServiceException) {
        // The session has ended, or this phone no longer has the key that it is bound to.
        if (problem.code !in setOf("invalid_grant", "invalid_dpop_proof")) throw problem
        vault.set("tokens", null)
        throw LoggedOutException()
    }

    /** Stores the tokens before anybody uses them. */
    private fun keep(answer: JSONObject): String {
        val expiresAt = System.currentTimeMillis() + answer.getLong("expires_in") * 1000
        vault.set("tokens", answer.put("expires_at", expiresAt).toString())
        return answer.getString("access_token")
    }

    private fun kept(): JSONObject? = vault.get("tokens")?.let(::JSONObject)

    /** Goes on when the screen that asked is gone, so that tokens that have come are stored. */
    private suspend fun <T> inTurn(work: suspend () -> T): T =
        withContext(Dispatchers.IO) { turn.withLock { withContext(NonCancellable) { work() } } }

    private suspend fun send(method: String, url: String, body: JSONObject?, token: String): JSONObject {
        val sent = if (method == "GET") null else jsonOf(body ?: JSONObject())
        return http.send(method, url, sent, "Authorization" to "Bearer $token")
    }

    private companion object {
        const val EARLY = 60_000L
        const val USER = "/v2/marketing/login/user"
    }
}

internal fun jsonOf(body: JSONObject): RequestBody = body.toString().toRequestBody("application/json".toMediaType())

/** @param hear gets each answer, whatever its status */
internal suspend fun OkHttpClient.send(
    method: String,
    url: String,
    body: RequestBody?,
    vararg headers: Pair<String, String>,
    hear: (Response) -> Unit = {},
): JSONObject = withContext(Dispatchers.IO) {
    val request = Request.Builder().url(url).method(method, body)
    for ((name, value) in headers) request.header(name, value)
    newCall(request.build()).execute().use { response ->
        hear(response)
        val answer = parsed(response.body.string())
        if (response.isSuccessful) return@use answer
        throw ServiceException(response.code, answer.optString("error", "unknown"))
    }
}

/** A 204 has no body, and a proxy may send a page. */
private fun parsed(text: String): JSONObject = try {
    JSONObject(text)
} catch (problem: JSONException) {
    JSONObject()
}
