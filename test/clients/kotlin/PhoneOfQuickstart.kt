import java.util.concurrent.atomic.AtomicInteger
import kotlin.system.exitProcess
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking
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
            val isRefresh = chain.request().url.encodedPath == "/refresh"
            if (isRefresh) refreshes.incrementAndGet()
            chain.proceed(chain.request()).also { if (isRefresh) onRefresh() }
        }
        .build()
    private val memory = Memory()
    private val session = sessionWith(memory)

    private fun sessionWith(vault: Vault) =
        Session(input.getString("backend"), input.getString("base_url"), vault, http)

    private suspend fun logIn(session: Session, subject: String = input.getString("subject")): String {
        val nonce = session.nonce()
        val url = "${input.getString("sandbox_url")}/provider_f/credentials?subject=$subject&nonce=$nonce"
        val issued = http.newCall(Request.Builder().url(url).build()).execute().use { JSONObject(it.body.string()) }
        session.logIn(issued.getString("id_token"), nonce)
        return nonce
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
        val nonce = logIn(session)
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
        JSONObject()
            .put("devices", devices.length())
            .put("renewed", one != before && one == other)
            .put("refreshes", JSONArray(listOf(atOnce, inAll)))
            .put("same_nonce", outcomeOf { session.logIn("any", nonce) })
            .put("after_logout", outcomeOf { another.accessToken() })
            .put("logged_out", loggedOut)
            .put("stored", JSONObject(memory.texts))
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
