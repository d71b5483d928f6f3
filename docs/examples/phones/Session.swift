import Foundation

/// Secure storage of the phone: texts by name.
protocol Vault: Sendable {
    func get(_ name: String) throws -> String?
    func set(_ name: String, _ value: String?) throws
}

/// Whom the app asks for tokens: your backend or, without one, the service itself (PublicClient.swift).
protocol TokenSource: Sendable {
    func nonce() async throws -> String
    func logIn(_ credential: [String: String]) async throws -> TokenAnswer
    /// Tokens of a new guest.
    func guest() async throws -> TokenAnswer
    /// The header `DPoP` of a request of a guest; nil with a backend, whose sessions are bound to no key.
    func proof(_ method: String, _ url: URL?) async throws -> String?
    func refresh(_ refreshToken: String) async throws -> TokenAnswer
    func logOut(_ refreshToken: String) async throws
    /// A Login App Token, with which devices register.
    func appToken() async throws -> String
}

struct TokenAnswer: Decodable, Sendable {
    let accessToken: String
    let refreshToken: String?
    let expiresIn: TimeInterval
}

/// The account that is kept, and the guest who is gone.
struct Merged: Decodable, Sendable {
    let id: String
    let mergedFrom: String?
    let refreshToken: String?
}

struct NonceAnswer: Decodable { let nonce: String }

/// Your backend at an address: backend.mjs or the like.
struct Backend: TokenSource {
    let address: URL

    func nonce() async throws -> String {
        let answer: NonceAnswer = try decoded(await send("nonce"))
        return answer.nonce
    }

    func logIn(_ credential: [String: String]) async throws -> TokenAnswer {
        try decoded(await send("login", credential))
    }

    func guest() async throws -> TokenAnswer {
        try decoded(await send("guest"))
    }

    func proof(_ method: String, _ url: URL?) async throws -> String? { nil }

    func refresh(_ refreshToken: String) async throws -> TokenAnswer {
        try decoded(await send("refresh", ["refresh_token": refreshToken]))
    }

    func logOut(_ refreshToken: String) async throws {
        _ = try await send("logout", ["refresh_token": refreshToken])
    }

    func appToken() async throws -> String {
        let answer: TokenAnswer = try decoded(await send("app-token"))
        return answer.accessToken
    }

    private func send(_ endpoint: String, _ body: [String: String]? = nil) async throws -> Data {
        try await load(jsonRequest("POST", address.appending(path: endpoint), body))
    }
}

/// An answer that is no success.
struct ServiceError: Error {
    let status: Int
    /// The `error` of the service, such as `invalid_token`.
    let code: String
}

/// Nobody is logged in, or the session is over: show the login.
struct LoggedOut: Error {}

struct Device: Encodable, Sendable {
    var platform = "ios"
    let token: String
    /// `sandbox` for a development build.
    let environment: String
    let installationId: String
}

/// The login of one person. Make one for the whole app.
actor Session {
    private struct Tokens: Codable {
        let accessToken: String
        let refreshToken: String
        let expiresAt: Date
    }

    private struct DeviceAnswer: Decodable { let id: String }

    private static let early: TimeInterval = 60

    private let source: any TokenSource
    private let service: URL
    private let vault: any Vault
    private var last: Task<Void, Never> = Task {}

    /// - Parameter service: the address of the login service
    init(source: any TokenSource, service: URL, vault: any Vault) {
        self.source = source
        self.service = service
        self.vault = vault
    }

    /// A nonce for one login.
    func nonce() async throws -> String {
        try await source.nonce()
    }

    /// Begins as a guest, unless somebody is logged in, or a guest is there. Call it when there is something to keep.
    func beginAsGuest() async throws {
        try await inTurn { session in
            if try session.kept() == nil { _ = try session.keep(await session.source.guest()) }
        }
    }

    /// Makes the guest a person, who has the same account from now on. Throws a `ServiceError` with `conflict` if the
    /// person has an account already: ask whether to `mergeGuest` into it.
    func linkGuest(idToken: String, nonce: String, code: String = "", user: String = "") async throws {
        let credential = ["id_token": idToken, "nonce": nonce, "authorization_code": code, "user": user]
        let form = formOf(credential.merging(["provider": "provider_f"]) { $1 })
        let (token, _) = try await sendAsGuest("POST", "/v2/marketing/login/user/identities", form)
        _ = try await accessToken(rejected: token)  // The next one has no mark of a guest.
    }

    /// Merges the guest into the account that the person has, whom the phone is logged in as from then on. They sign in
    /// again for it. Returns both ids, so that your servers can move what they have stored of the guest.
    func mergeGuest(idToken: String, nonce: String) async throws -> Merged {
        let credential = ["keep": "theirs", "provider": "provider_f", "id_token": idToken, "nonce": nonce]
        let (_, answer) = try await sendAsGuest("POST", "/v2/marketing/login/user/merge", formOf(credential))
        let merged: Merged = try decoded(answer)
        if let refreshToken = merged.refreshToken {
            try await inTurn { session in
                let first = TokenAnswer(accessToken: "", refreshToken: refreshToken, expiresIn: 0)
                _ = try session.keep(first)
            }
        }
        _ = try await accessToken()  // The first one of that account.
        return merged
    }

    /// Sends what a person does after a recent login: with an access token that has just been issued, and a proof of the
    /// phone's key, for which the refresh has brought the nonce. Returns the token and the answer.
    @discardableResult
    func sendAsGuest(_ method: String, _ path: String, _ form: Data? = nil) async throws -> (String, Data) {
        let token = try await accessToken(rejected: try await accessToken())
        guard let url = URL(string: service.absoluteString + path) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = form
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        request.setValue(try await source.proof(method, url), forHTTPHeaderField: "DPoP")
        return (token, try await load(request))
    }

    /// Logs in. Apple gives a code with each id token, and at the first login the person's name.
    func logIn(idToken: String, nonce: String, code: String = "", user: String = "") async throws {
        try await inTurn { session in
            let credential = ["id_token": idToken, "nonce": nonce, "authorization_code": code, "user": user]
            _ = try session.keep(await session.source.logIn(credential))
        }
    }

    /// Ends the session, and forgets it even if the phone is offline.
    func logOut() async throws {
        try await inTurn { session in
            let ended = try session.kept()
            try session.vault.set("tokens", nil)
            guard let tokens = ended else { return }
            try await session.source.logOut(tokens.refreshToken)
        }
    }

    /// A valid access token, for your own endpoints too.
    /// - Parameter rejected: one that got a 401, so that another is needed
    func accessToken(rejected: String? = nil) async throws -> String {
        try await inTurn { session in
            guard let tokens = try session.kept() else { throw LoggedOut() }
            let isFresh = tokens.expiresAt.timeIntervalSinceNow > Self.early && tokens.accessToken != rejected
            if isFresh { return tokens.accessToken }
            return try await session.refresh(tokens.refreshToken)
        }
    }

    /// A request to the login service as the person. Throws a `ServiceError` with `insufficient_user_authentication`
    /// if the login is too long ago: log in again, and repeat it.
    @discardableResult
    func call(_ method: String, _ path: String, _ body: [String: String]? = nil) async throws -> Data {
        let token = try await accessToken()
        do {
            return try await send(method, path, body, token: token)
        } catch let error as ServiceError where error.code == "invalid_token" {
            let renewed = try await accessToken(rejected: token)
            return try await send(method, path, body, token: renewed)
        }
    }

    /// Registers this phone and relates it to the person.
    func registerDevice(_ device: Device) async throws {
        let app = try await source.appToken()
        let devices = "/v2/marketing/push_notifications/devices"
        let registered = try await send("POST", devices, ["device": device], token: app)
        let answer: DeviceAnswer = try decoded(registered)
        try await call("POST", "/v2/marketing/login/user/push_notifications/devices", ["device_id": answer.id])
    }

    /// If the answer gets lost, the next call sends the same refresh token, and gets the same successor.
    private func refresh(_ refreshToken: String) async throws -> String {
        do {
            return try keep(await source.refresh(refreshToken))
        } catch let error as ServiceError where ["invalid_grant", "invalid_dpop_proof"].contains(error.code) {
            // The session has ended, or this phone no longer has the key that it is bound to.
            try vault.set("tokens", nil)
            throw LoggedOut()
        }
    }

    /// Stores the tokens before anybody uses them.
    private func keep(_ answer: TokenAnswer) throws -> String {
        guard let refreshToken = answer.refreshToken else { throw URLError(.cannotParseResponse) }
        let expiresAt = Date(timeIntervalSinceNow: answer.expiresIn)
        let tokens = Tokens(accessToken: answer.accessToken, refreshToken: refreshToken, expiresAt: expiresAt)
        try vault.set("tokens", String(decoding: JSONEncoder().encode(tokens), as: UTF8.self))
        return answer.accessToken
    }

    private func kept() throws -> Tokens? {
        try vault.get("tokens").map { try JSONDecoder().decode(Tokens.self, from: Data($0.utf8)) }
    }

    /// Runs what reads and writes the tokens one after the other: an actor alone lets others in while it waits.
    private func inTurn<Value: Sendable>(
        _ work: @escaping @Sendable (isolated Session) async throws -> Value
    ) async throws -> Value {
        let before = last
        let task = Task {
            await before.value
            return try await work(self)
        }
        last = Task { _ = await task.result }
        return try await task.value
    }

    private func send(
        _ method: String, _ path: String, _ body: (any Encodable & Sendable)?, token: String
    ) async throws -> Data {
        guard let url = URL(string: service.absoluteString + path) else { throw URLError(.badURL) }
        var request = try jsonRequest(method, url, body)
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        return try await load(request)
    }
}

func jsonRequest(_ method: String, _ url: URL, _ body: (any Encodable & Sendable)?) throws -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    if let body {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        request.httpBody = try encoder.encode(body)
    }
    return request
}

func formOf(_ fields: [String: String]) -> Data {
    let pairs = fields.map { name, value in
        "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
    }
    return Data(pairs.joined(separator: "&").utf8)
}

/// The body of a successful answer.
/// - Parameter hear: gets the header `DPoP-Nonce` of each answer, whatever its status
func load(_ request: URLRequest, hear: @Sendable (String?) async -> Void = { _ in }) async throws -> Data {
    struct Answer: Decodable { let error: String }
    let (data, response) = try await URLSession.shared.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    await hear(response.value(forHTTPHeaderField: "DPoP-Nonce"))
    if (200..<300).contains(response.statusCode) { return data }
    let code = (try? JSONDecoder().decode(Answer.self, from: data))?.error // A proxy may send a page instead.
    throw ServiceError(status: response.statusCode, code: code ?? "unknown")
}

func decoded<Answer: Decodable>(_ data: Data) throws -> Answer {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(Answer.self, from: data)
}
