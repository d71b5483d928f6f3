import Foundation

/// Secure storage of the phone: texts by name.
protocol Vault: Sendable {
    func get(_ name: String) throws -> String?
    func set(_ name: String, _ value: String?) throws
}

/// An answer that is no success. Its code is the `error` of the service, such as `invalid_token`.
struct ServiceError: Error {
    let status: Int
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

    private struct TokenAnswer: Decodable {
        let accessToken: String
        let refreshToken: String?
        let expiresIn: TimeInterval
    }

    private struct NonceAnswer: Decodable { let nonce: String }
    private struct DeviceAnswer: Decodable { let id: String }
    private struct ErrorAnswer: Decodable { let error: String }

    private static let early: TimeInterval = 60

    private let backend: URL
    private let service: URL
    private let vault: any Vault
    private var last: Task<Void, Never> = Task {}

    /// - Parameters:
    ///   - backend: the address of your backend
    ///   - service: the address of the login service
    init(backend: URL, service: URL, vault: any Vault) {
        self.backend = backend
        self.service = service
        self.vault = vault
    }

    /// A nonce for one login.
    func nonce() async throws -> String {
        let answer: NonceAnswer = try decoded(await send("POST", backend, "/nonce"))
        return answer.nonce
    }

    /// Logs in. Apple gives a code with each id token, and at the first login the person's name.
    func logIn(idToken: String, nonce: String, code: String = "", user: String = "") async throws {
        try await inTurn { session in
            let credential = ["id_token": idToken, "nonce": nonce, "authorization_code": code, "user": user]
            _ = try session.keep(await session.send("POST", session.backend, "/login", credential))
        }
    }

    /// Ends the session, and forgets it even if the phone is offline.
    func logOut() async throws {
        try await inTurn { session in
            let ended = try session.kept()
            try session.vault.set("tokens", nil)
            guard let tokens = ended else { return }
            _ = try await session.send("POST", session.backend, "/logout", ["refresh_token": tokens.refreshToken])
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
            return try await send(method, service, path, body, token: token)
        } catch let error as ServiceError where error.code == "invalid_token" {
            let renewed = try await accessToken(rejected: token)
            return try await send(method, service, path, body, token: renewed)
        }
    }

    /// Registers this phone and relates it to the person.
    func registerDevice(_ device: Device) async throws {
        let app: TokenAnswer = try decoded(await send("POST", backend, "/app-token"))
        let devices = "/v2/marketing/push_notifications/devices"
        let registered = try await send("POST", service, devices, ["device": device], token: app.accessToken)
        let answer: DeviceAnswer = try decoded(registered)
        try await call("POST", "/v2/marketing/login/user/push_notifications/devices", ["device_id": answer.id])
    }

    /// If the answer gets lost, the next call sends the same refresh token, and gets the same successor.
    private func refresh(_ refreshToken: String) async throws -> String {
        do {
            return try keep(await send("POST", backend, "/refresh", ["refresh_token": refreshToken]))
        } catch let error as ServiceError where error.code == "invalid_grant" {
            try vault.set("tokens", nil)
            throw LoggedOut()
        }
    }

    /// Stores the tokens before anybody uses them.
    private func keep(_ data: Data) throws -> String {
        let answer: TokenAnswer = try decoded(data)
        guard let refreshToken = answer.refreshToken else { throw URLError(.cannotParseResponse) }
        let expiresAt = Date(timeIntervalSinceNow: answer.expiresIn)
        let tokens = Tokens(accessToken: answer.accessToken, refreshToken: refreshToken, expiresAt: expiresAt)
        try vault.set("tokens", String(decoding: JSONEncoder().encode(tokens), as: UTF8.self))
        return answer.accessToken
    }

    private func kept() throws -> Tokens? {
        try vault.get("tokens").map { try JSONDecoder().decode(Tokens.self, from: Data($0.utf8)) }
    }

    private func decoded<Answer: Decodable>(_ data: Data) throws -> Answer {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Answer.self, from: data)
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
        _ method: String, _ base: URL, _ path: String, _ body: (any Encodable & Sendable)? = nil, token: String? = nil
    ) async throws -> Data {
        guard let url = URL(string: base.absoluteString + path) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        if let body {
            let encoder = JSONEncoder()
            encoder.keyEncodingStrategy = .convertToSnakeCase
            request.httpBody = try encoder.encode(body)
        }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode else { throw URLError(.badServerResponse) }
        guard (200..<300).contains(status) else {
            // A proxy may send a page instead.
            let answer = try? JSONDecoder().decode(ErrorAnswer.self, from: data)
            throw ServiceError(status: status, code: answer?.error ?? "unknown")
        }
        return data
    }
}
