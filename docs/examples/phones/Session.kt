import java.io.IOException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import org.json.JSONException
import org.json.JSONObject

/** Secure storage of the phone: texts by name. What it sets is stored when it returns. */
interface Vault {
    fun get(name: String): String?
    fun set(name: String, value: String?)
}

/** An answer that is no success. Its [code] is the `error` of the service, such as `invalid_token`. */
class ServiceException(val status: Int, val code: String) : IOException("$status $code")

/** Nobody is logged in, or the session is over: show the login. */
class LoggedOutException : IOException("Nobody is logged in.")

/** Somebody has logged in with another account than the one that was to be deleted. */
class AnotherAccountException : IOException("This is another account.")

/**
 * The login of one person. Make one for the whole app.
 * @param backend the address of your backend
 * @param service the address of the login service
 */
class Session(
    private val backend: String,
    private val service: String,
    private val vault: Vault,
    private val http: OkHttpClient = OkHttpClient(),
) {
    /** Lets what reads and writes the tokens run one after the other. */
    private val turn = Mutex()

    /** A nonce for one login. */
    suspend fun nonce(): String = send("POST", "$backend/nonce").getString("nonce")

    /** Logs in. Apple gives a code with each id token, and at the first login what it knows of the person. */
    suspend fun logIn(idToken: String, nonce: String, code: String = "", user: String = "") {
        val credential = JSONObject().put("id_token", idToken).put("nonce", nonce)
            .put("authorization_code", code).put("user", user)
        inTurn { keep(send("POST", "$backend/login", credential)) }
    }

    /** Ends the session, and forgets it even if the phone is offline. */
    suspend fun logOut() {
        inTurn {
            val tokens = kept()
            vault.set("tokens", null)
            tokens?.let { send("POST", "$backend/logout", refreshTokenOf(it)) }
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
        val app = send("POST", "$backend/app-token").getString("access_token")
        val registration = JSONObject().put("device", device.put("platform", "android"))
        val id = send("POST", "$service/v2/marketing/push_notifications/devices", registration, app).getString("id")
        call("POST", "/v2/marketing/login/user/push_notifications/devices", JSONObject().put("device_id", id))
    }

    /** Deletes the account. The service wants a login of the last 15 minutes for that. */
    suspend fun deleteAccount(logInAgain: suspend () -> Unit) {
        val path = "/v2/marketing/login/user"
        val id = call("GET", path).getString("id")
        try {
            call("DELETE", path)
        } catch (problem: ServiceException) {
            if (problem.code != "insufficient_user_authentication") throw problem
            logInAgain()
            if (call("GET", path).getString("id") != id) throw AnotherAccountException()
            call("DELETE", path)
        }
    }

    /** If the answer gets lost, the next call sends the same refresh token, and gets the same successor. */
    private suspend fun refresh(tokens: JSONObject): String = try {
        keep(send("POST", "$backend/refresh", refreshTokenOf(tokens)))
    } catch (problem: ServiceException) {
        if (problem.code != "invalid_grant") throw problem
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

    private fun refreshTokenOf(tokens: JSONObject) =
        JSONObject().put("refresh_token", tokens.getString("refresh_token"))

    /** Goes on when the screen that asked is gone, so that tokens that have come are stored. */
    private suspend fun <T> inTurn(work: suspend () -> T): T =
        withContext(Dispatchers.IO) { turn.withLock { withContext(NonCancellable) { work() } } }

    private suspend fun send(method: String, url: String, body: JSONObject? = null, token: String? = null): JSONObject =
        withContext(Dispatchers.IO) {
            val sent = (body ?: JSONObject()).toString().toRequestBody("application/json".toMediaType())
            val request = Request.Builder().url(url).method(method, if (method == "GET") null else sent)
            if (token != null) request.header("Authorization", "Bearer $token")
            http.newCall(request.build()).execute().use { response ->
                val answer = parsed(response.body.string())
                if (!response.isSuccessful) throw ServiceException(response.code, answer.optString("error", "unknown"))
                answer
            }
        }

    /** A 204 has no body, and a proxy may send a page. */
    private fun parsed(text: String): JSONObject = try {
        JSONObject(text)
    } catch (problem: JSONException) {
        JSONObject()
    }

    private companion object {
        const val EARLY = 60_000L
    }
}
