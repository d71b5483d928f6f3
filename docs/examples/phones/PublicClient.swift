import CryptoKit
import Foundation

/// The key of this phone, which never leaves the Secure Enclave.
protocol PhoneKey {
    var publicKey: P256.Signing.PublicKey { get }
    func signature<Text: DataProtocol>(for data: Text) throws -> P256.Signing.ECDSASignature
}

extension SecureEnclave.P256.Signing.PrivateKey: PhoneKey {}

/// A key in the memory, for tests.
extension P256.Signing.PrivateKey: PhoneKey {}

/// The claim of the next proof: each answer has it, and it outlives the access token by ten minutes.
actor ProofNonce {
    private(set) var value: String?

    func hear(_ told: String?) { value = told ?? value }
}

/// A public client (RFC 9449): it has no secret, and proves the key of this phone to the service.
struct PublicClient: TokenSource {
    /// The address of the login service.
    let service: URL
    let clientId: String
    /// The long-lived Login App Token that the app contains.
    let longLivedAppToken: String
    /// Makes or finds the key.
    let phoneKey: @Sendable () throws -> any PhoneKey
    private let proofNonce = ProofNonce()

    func nonce() async throws -> String {
        let answer: NonceAnswer = try decoded(await load(request("nonce", [:])))
        return answer.nonce
    }

    func logIn(_ credential: [String: String]) async throws -> TokenAnswer {
        let more = ["grant_type": "provider_credentials", "provider": "provider_f"]
        return try decoded(await prove("token", credential.merging(more) { $1 }))
    }

    func guest() async throws -> TokenAnswer {
        try decoded(await prove("token", ["grant_type": "guest"]))
    }

    func refresh(_ refreshToken: String) async throws -> TokenAnswer {
        try decoded(await prove("token", ["grant_type": "refresh_token", "refresh_token": refreshToken]))
    }

    func logOut(_ refreshToken: String) async throws {
        _ = try await prove("revoke", ["token": refreshToken])
    }

    func appToken() async throws -> String { longLivedAppToken }

    /// Sends a form with a proof.
    private func prove(_ endpoint: String, _ fields: [String: String]) async throws -> Data {
        do {
            return try await proveOnce(endpoint, fields)
        } catch let error as ServiceError where ["use_dpop_nonce", "invalid_dpop_proof"].contains(error.code) {
            // The service wants its latest nonce, or the network has sent a proof twice: the same request with a new proof.
            return try await proveOnce(endpoint, fields)
        }
    }

    private func proveOnce(_ endpoint: String, _ fields: [String: String]) async throws -> Data {
        var request = self.request(endpoint, fields)
        let proof = try await self.proof("POST", request.url)
        request.setValue(proof, forHTTPHeaderField: "DPoP")
        return try await load(request) { [proofNonce] told in await proofNonce.hear(told) }
    }

    private func request(_ endpoint: String, _ fields: [String: String]) -> URLRequest {
        var request = URLRequest(url: service.appending(path: "v2/marketing/oauth").appending(path: endpoint))
        request.httpMethod = "POST"
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        request.httpBody = formOf(fields.merging(["client_id": clientId]) { $1 })
        return request
    }

    func proof(_ method: String, _ url: URL?) async throws -> String? {
        let key = try phoneKey()
        let point = key.publicKey.rawRepresentation
        let jwk = ["kty": "EC", "crv": "P-256", "x": base64URL(point.prefix(32)), "y": base64URL(point.suffix(32))]
        let header: [String: Any] = ["typ": "dpop+jwt", "alg": "ES256", "jwk": jwk]
        var claims: [String: Any] = ["jti": UUID().uuidString, "htm": method, "htu": url?.absoluteString ?? ""]
        claims["iat"] = Int(Date().timeIntervalSince1970)
        claims["nonce"] = await proofNonce.value
        let text = try [header, claims].map { base64URL(try JSONSerialization.data(withJSONObject: $0)) }
            .joined(separator: ".")
        return "\(text).\(base64URL(try key.signature(for: Data(text.utf8)).rawRepresentation))"
    }

    private func base64URL(_ data: Data) -> String {
        data.base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
