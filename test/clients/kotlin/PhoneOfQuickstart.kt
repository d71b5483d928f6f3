import java.security.KeyFactory
import java.security.KeyPair
import java.security.KeyPairGenerator
import java.security.spec.ECGenParameterSpec
import java.security.spec.PKCS8EncodedKeySpec
import java.security.spec.X509EncodedKeySpec
import java.util.Base64
import java.util.concurrent.atomic.AtomicInteger
import kotlin.system.exitProcess
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking
import okhttp3.FormBody
import okhttp3.OkHttpClient
import okhttp3.Request
import org.json.JSONArray
import org.json.JSONObject

private const val USER = "/v2/marketing/login/user"

private class Memory(val texts: MutableMap<String, String> = mutableMapOf()) : Vault {
    override fun get(name: String): String? = texts[name]
    override fun set(name: String, value: String?) {
        if (value == null) texts.remove(name) else texts[name] = value
    }

    fun field(name: String) = JSONObject(get("tokens")).get(name).toString()

    fun change(field: String, value: Any) = set("tokens", JSONObject(get("tokens")).put(field, value).toString())
}

private class Starts(private val input: JSONObject) {
    private val refreshes = AtomicInteger()
    private var onRefresh: () -> Unit = {}
    private val http = OkHttpClient.Builder()
        .addInterceptor { chain ->
            val isRefresh = isRefresh(chain.request())
            if (isRefresh) refreshes.incrementAndGet()
            chain.proceed(chain.request()).also { if (isRefresh) onRefresh() }
        }
        .build()
    private val memory = Memory()
    private val session = sessionWith(memory)

    private fun isRefresh(request: Request): Boolean {
        val form = request.body as? FormBody ?: return request.url.encodedPath == "/refresh"
        return (0 until form.size).any { form.value(it) == "refresh_token" }
    }

    /** @param key that of the public client, unless the phone has lost it */
    private fun sessionWith(vault: Vault, key: KeyPair? = null): Session {
        val service = input.getString("base_url")
        val client = input.optJSONObject("source") ?: return Session(Backend(input.getString("source"), http), service, vault, http)
        val (clientId, appToken) = listOf("client_id", "app_token").map(client::getString)
        return Session(PublicClient(service, clientId, appToken, http) { key ?: keyOf(client) }, service, vault, http)
    }

    private fun keyOf(client: JSONObject): KeyPair {
        val (public, private) = listOf("public_key", "private_key").map { Base64.getDecoder().decode(client.getString(it)) }
        val factory = KeyFactory.getInstance("EC")
        return KeyPair(factory.generatePublic(X509EncodedKeySpec(public)), factory.generatePrivate(PKCS8EncodedKeySpec(private)))
    }

    /** What has logged the person in. */
    private suspend fun logIn(session: Session, subject: String = input.getString("subject")): Pair<String, String> {
        val nonce = session.nonce()
        val issued = issuedFor(subject, nonce)
        val user = JSONObject().put("name", JSONObject().put("firstName", "Ada")).toString()
        session.logIn(issued.getString("id_token"), nonce, issued.getString("authorization_code"), user)
        return issued.getString("id_token") to nonce
    }

    private fun issuedFor(subject: String, nonce: String): JSONObject {
        val url = "${input.getString("sandbox_url")}/provider_f/credentials?subject=$subject&nonce=$nonce&with_code=true"
        return http.newCall(Request.Builder().url(url).build()).execute().use { JSONObject(it.body.string()) }
    }

    private suspend fun outcomeOf(work: suspend () -> Unit): String = try {
        work()
        "success"
    } catch (problem: ServiceException) {
        problem.code
    } catch (_: LoggedOutException) {
        "LoggedOut"
    } catch (_: AnotherAccountException) {
        "AnotherAccount"
    }

    suspend fun first(): JSONObject = coroutineScope {
        val (idToken, nonce) = logIn(session)
        session.registerDevice(JSONObject().put("token", input.getString("subject")))
        val devices = session.call("GET", "$USER/push_notifications/devices").getJSONArray("devices")

        val before = session.accessToken()
        memory.change("expires_at", 0)
        val (one, other) = List(2) { async { session.accessToken() } }.awaitAll()
        val atOnce = refreshes.get()
        memory.change("access_token", "rejected")
        session.call("GET", USER)
        val inAll = refreshes.get()

        memory.change("expires_at", 0)
        val leaving = async { session.accessToken() }
        onRefresh = leaving::cancel
        leaving.join()
        check(leaving.isCancelled && memory.field("expires_at") != "0") { "Tokens that had come were not stored." }

        val another = sessionWith(Memory())
        logIn(another)
        val loggedOut = another.accessToken()
        another.logOut()
        val ofLostKey = input.optJSONObject("source")?.let { withLostKey(idToken, nonce) } ?: JSONObject()
        val identity = session.call("GET", USER).getJSONArray("identities").getJSONObject(0)
        ofLostKey
            .put("told_by_app", identity.getJSONObject("profile").getString("given_name"))
            .put("guests", useGuests())
            .put("devices", devices.length())
            .put("renewed", one != before && one == other)
            .put("refreshes", JSONArray(listOf(atOnce, inAll)))
            .put("same_login_again", outcomeOf { session.logIn(idToken, nonce) })
            .put("after_logout", outcomeOf { another.accessToken() })
            .put("logged_out", loggedOut)
            .put("stored", JSONObject(memory.texts))
    }

    /** The app of a public client after the phone has lost its key: a copy of the tokens shows the login, and is forgotten. */
    private suspend fun withLostKey(idToken: String, nonce: String): JSONObject {
        val copied = Memory(memory.texts.toMutableMap())
        val key = KeyPairGenerator.getInstance("EC").apply { initialize(ECGenParameterSpec("secp256r1")) }.generateKeyPair()
        val copy = sessionWith(copied, key)
        val rejected = copied.field("access_token")
        val lostKey = outcomeOf { copy.accessToken(rejected) }
        return JSONObject()
            .put("lost_key", lostKey)
            .put("kept", copied.texts.size)
            .put("stolen_login", outcomeOf { copy.logIn(idToken, nonce) })
    }

    /** A guest who becomes a person, one whose identity somebody has, and one who deletes the account. */
    private suspend fun useGuests(): JSONArray {
        suspend fun begin() = sessionWith(Memory()).apply {
            beginAsGuest()
            beginAsGuest()
        }
        suspend fun link(guest: Session, subject: String) {
            val nonce = guest.nonce()
            val issued = issuedFor(subject, nonce)
            guest.linkGuest(issued.getString("id_token"), nonce, issued.getString("authorization_code"))
        }
        val subject = input.getString("subject")
        val guest = begin()
        val before = guest.call("GET", USER)
        link(guest, "$subject-guest")
        val after = guest.call("GET", USER)

        val second = begin()
        val conflict = outcomeOf { link(second, subject) }
        val deletion = outcomeOf { second.deleteAccount { logIn(second) } }
        val afterDeletion = outcomeOf { second.call("GET", USER) }
        val isSame = before.getString("id") == after.getString("id")
        val marks = listOf(before, after).map { it.optBoolean("guest") }

        val third = begin()
        val idOfThird = third.call("GET", USER).getString("id")
        val nonce = third.nonce()
        val merged = third.mergeGuest(issuedFor("$subject-guest", nonce).getString("id_token"), nonce)
        val ids = listOf(merged, third.call("GET", USER)).map { it.getString("id") }
        val isMerged = merged.getString("merged_from") == idOfThird && ids.all { it == after.getString("id") }
        return JSONArray(marks + listOf(isSame, conflict, deletion, afterDeletion, isMerged))
    }

    suspend fun next(stored: JSONObject): JSONObject {
        for (name in stored.keySet()) memory.set(name, stored.getString(name))
        val copy = sessionWith(Memory(memory.texts.toMutableMap()))
        val ofAnother = outcomeOf { copy.deleteAccount { logIn(copy, input.getString("subject") + "-other") } }
        val deletion = outcomeOf { session.deleteAccount { logIn(session) } }
        return JSONObject()
            .put("deletions", JSONArray(listOf(ofAnother, deletion)))
            .put("after_deletion", outcomeOf { session.call("GET", USER) })
            .put("stored", JSONObject(memory.texts))
    }
}

/** Lives through a start of the quickstart's app, and prints what it saw. */
fun main(arguments: Array<String>) {
    val input = JSONObject(arguments.single())
    val stored = input.optJSONObject("stored")
    println(runBlocking { Starts(input).run { if (stored == null) first() else next(stored) } })
    exitProcess(0)
}
