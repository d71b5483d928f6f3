import kotlin.system.exitProcess
import okhttp3.Credentials
import org.openapitools.client.apis.DevicesApi
import org.openapitools.client.apis.TokensApi
import org.openapitools.client.infrastructure.ClientException
import org.openapitools.client.models.NewDevice
import org.openapitools.client.models.NewDevicePlatform
import org.openapitools.client.models.RegisterDeviceRequest
import org.openapitools.client.models.RelateDeviceRequest
import org.openapitools.client.models.TokenRequestGrantType
import org.openapitools.client.models.TokenRequestProvider

/** Logs in with an id token, registers a device and relates it. Prints the device's id. */
fun main(arguments: Array<String>) {
    val (baseUrl, clientId, clientSecret, idToken) = arguments
    val tokens = TokensApi(baseUrl, httpClient(Credentials.basic(clientId, clientSecret)))
    val login = tokens.issueToken(
        grantType = TokenRequestGrantType.provider_credentials,
        provider = TokenRequestProvider.provider_f,
        idToken = idToken,
    )
    val app = tokens.issueToken(grantType = TokenRequestGrantType.client_credentials)
    check(login.refreshToken != null && app.refreshToken == null) { "Only a login has a refresh token." }

    val device = DevicesApi(baseUrl, httpClient("Bearer ${app.accessToken}")).registerDevice(
        RegisterDeviceRequest(NewDevice(platform = NewDevicePlatform.android, token = "kotlin-phone")),
    )
    val devices = DevicesApi(baseUrl, httpClient("Bearer ${login.accessToken}"))
    devices.relateDevice(RelateDeviceRequest(deviceId = device.id))
    check(devices.listDevices().devices.any { it.id == device.id }) { "The device is not related." }

    try {
        devices.relateDevice(RelateDeviceRequest(deviceId = "d_unknown"))
        error("A device that does not exist was related.")
    } catch (problem: ClientException) {
        check(problem.statusCode == 404) { "The status was ${problem.statusCode}." }
    }
    println(device.id)
    // The client keeps its connections, and with them the process, for minutes.
    exitProcess(0)
}
