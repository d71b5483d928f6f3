import android.app.Activity
import android.content.Context
import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyProperties
import android.util.Base64
import androidx.credentials.CredentialManager
import androidx.credentials.CustomCredential
import androidx.credentials.GetCredentialRequest
import com.google.android.libraries.identity.googleid.GetSignInWithGoogleOption
import com.google.android.libraries.identity.googleid.GoogleIdTokenCredential
import com.google.firebase.messaging.FirebaseMessaging
import java.security.GeneralSecurityException
import java.security.KeyPair
import java.security.KeyPairGenerator
import java.security.KeyStore
import java.security.spec.ECGenParameterSpec
import java.util.UUID
import javax.crypto.Cipher
import javax.crypto.KeyGenerator
import javax.crypto.SecretKey
import javax.crypto.spec.GCMParameterSpec
import kotlinx.coroutines.tasks.await
import org.json.JSONObject

/** A file of preferences, encrypted with a key that never leaves the Android Keystore. */
class KeystoreVault(context: Context) : Vault {
    private val file = context.getSharedPreferences("vault", Context.MODE_PRIVATE)

    override fun get(name: String): String? {
        val sealed = Base64.decode(file.getString(name, null) ?: return null, Base64.NO_WRAP)
        return try {
            val cipher = Cipher.getInstance(ALGORITHM)
            cipher.init(Cipher.DECRYPT_MODE, key(), GCMParameterSpec(128, sealed, 0, IV_BYTES))
            cipher.doFinal(sealed, IV_BYTES, sealed.size - IV_BYTES).decodeToString()
        } catch (problem: GeneralSecurityException) {
            null // The file came from the backup of another phone, whose key stayed there.
        }
    }

    override fun set(name: String, value: String?) {
        val editor = file.edit()
        if (value == null) {
            editor.remove(name)
        } else {
            val cipher = Cipher.getInstance(ALGORITHM)
            cipher.init(Cipher.ENCRYPT_MODE, key())
            val sealed = cipher.iv + cipher.doFinal(value.encodeToByteArray())
            editor.putString(name, Base64.encodeToString(sealed, Base64.NO_WRAP))
        }
        check(editor.commit()) { "The phone's storage is full." }
    }

    @Synchronized
    private fun key(): SecretKey {
        val store = KeyStore.getInstance(STORE).apply { load(null) }
        (store.getKey(KEY, null) as? SecretKey)?.let { return it }
        val purposes = KeyProperties.PURPOSE_ENCRYPT or KeyProperties.PURPOSE_DECRYPT
        val specification = KeyGenParameterSpec.Builder(KEY, purposes)
            .setBlockModes(KeyProperties.BLOCK_MODE_GCM)
            .setEncryptionPaddings(KeyProperties.ENCRYPTION_PADDING_NONE)
            .build()
        return KeyGenerator.getInstance(KeyProperties.KEY_ALGORITHM_AES, STORE).run {
            init(specification)
            generateKey()
        }
    }

    private companion object {
        const val STORE = "AndroidKeyStore"
        const val KEY = "vault"
        const val ALGORITHM = "AES/GCM/NoPadding"
        const val IV_BYTES = 12
    }
}

/** The key of this phone, for [PublicClient]. It never leaves the Android Keystore, nor does a backup contain it. */
private fun phoneKey(): KeyPair {
    val store = KeyStore.getInstance("AndroidKeyStore").apply { load(null) }
    (store.getEntry("phone", null) as? KeyStore.PrivateKeyEntry)?.let {
        return KeyPair(it.certificate.publicKey, it.privateKey)
    }
    val specification = KeyGenParameterSpec.Builder("phone", KeyProperties.PURPOSE_SIGN)
        .setAlgorithmParameterSpec(ECGenParameterSpec("secp256r1"))
        .setDigests(KeyProperties.DIGEST_SHA256)
        .build()
    return KeyPairGenerator.getInstance(KeyProperties.KEY_ALGORITHM_EC, "AndroidKeyStore").run {
        initialize(specification)
        generateKeyPair()
    }
}

/** What the app does. Make one in your `Application`. */
class Phone(context: Context) {
    private val vault = KeystoreVault(context)
    private val service = "https://login.example.com"

    // With a server: Backend("https://backend.example.com"), without phoneKey().
    private val source = PublicClient(service, "la_….c_…", "APP_TOKEN", phoneKey = ::phoneKey)
    val session = Session(source, service, vault)

    /** Call this when somebody who has not logged in does something to keep. */
    suspend fun beginAsGuest() = session.beginAsGuest()

    /** Makes the guest a person, at a button. It throws `conflict` if the person has an account: offer [mergeGuest]. */
    suspend fun linkGuest(activity: Activity) {
        val nonce = session.nonce()
        session.linkGuest(googleIdToken(activity, nonce), nonce)
    }

    /** Merges the guest into the account of a person who signs in once more. Your servers move what is the guest's. */
    suspend fun mergeGuest(activity: Activity) {
        val nonce = session.nonce()
        val account = session.mergeGuest(googleIdToken(activity, nonce), nonce)
        println("${account.optString("merged_from")} is ${account.getString("id")} now.") // Tell your servers.
    }

    suspend fun logIn(activity: Activity) {
        val nonce = session.nonce()
        session.logIn(googleIdToken(activity, nonce), nonce)
    }

    private suspend fun googleIdToken(activity: Activity, nonce: String): String {
        val option = GetSignInWithGoogleOption.Builder("1234567890-web.apps.googleusercontent.com").setNonce(nonce).build()
        val request = GetCredentialRequest.Builder().addCredentialOption(option).build()
        val credential = CredentialManager.create(activity).getCredential(activity, request).credential
        check(credential is CustomCredential && credential.type == GoogleIdTokenCredential.TYPE_GOOGLE_ID_TOKEN_CREDENTIAL)
        return GoogleIdTokenCredential.createFrom(credential.data).idToken
    }

    /** Call this after the login, at every start with somebody logged in, and in `FirebaseMessagingService.onNewToken`. */
    suspend fun register() {
        val token = FirebaseMessaging.getInstance().token.await()
        session.registerDevice(JSONObject().put("token", token).put("installation_id", installationId()))
    }

    /** Made once. A phone that is restored from a backup of this one can't read the vault, and makes its own. */
    private fun installationId(): String =
        vault.get("installation") ?: UUID.randomUUID().toString().also { vault.set("installation", it) }

    suspend fun deleteAccount(activity: Activity) = session.deleteAccount { logIn(activity) }
}
