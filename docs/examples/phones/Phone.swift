import AuthenticationServices
import CryptoKit
import Security
import SwiftUI
import UIKit

struct KeychainError: Error { let status: OSStatus }

/// Somebody has logged in with another account than the one that was to be deleted.
struct AnotherAccount: Error {}

struct KeychainVault: Vault {
    func get(_ name: String) throws -> String? {
        var query = item(name)
        query[kSecReturnData] = true
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess, let data = found as? Data else { throw KeychainError(status: status) }
        return String(decoding: data, as: UTF8.self)
    }

    func set(_ name: String, _ value: String?) throws {
        guard let value else {
            let status = SecItemDelete(item(name) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw KeychainError(status: status) }
            return
        }
        let content: [CFString: Any] = [
            kSecValueData: Data(value.utf8),
            kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        var status = SecItemUpdate(item(name) as CFDictionary, content as CFDictionary)
        if status == errSecItemNotFound {
            status = SecItemAdd(item(name).merging(content) { $1 } as CFDictionary, nil)
        }
        guard status == errSecSuccess else { throw KeychainError(status: status) }
    }

    private func item(_ name: String) -> [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: "login", kSecAttrAccount: name]
    }
}

/// The key of this phone, for `PublicClient`. The Keychain has it in a form that only this Secure Enclave can read.
func secureEnclaveKey() throws -> any PhoneKey {
    let vault = KeychainVault()
    if let kept = try vault.get("key").flatMap({ Data(base64Encoded: $0) }) {
        return try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: kept)
    }
    let access = SecAccessControlCreateWithFlags(
        nil, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, .privateKeyUsage, nil)!
    let made = try SecureEnclave.P256.Signing.PrivateKey(accessControl: access)
    try vault.set("key", made.dataRepresentation.base64EncodedString())
    return made
}

/// What the app does.
@MainActor
enum Phone {
    private static let vault = KeychainVault()
    private static let service = URL(string: "https://login.example.com")!
    // With a server: Backend(address: URL(string: "https://backend.example.com")!), without secureEnclaveKey().
    private static let source = PublicClient(
        service: service, clientId: "la_….c_…", longLivedAppToken: "APP_TOKEN", phoneKey: secureEnclaveKey)
    static let session = Session(source: source, service: service, vault: vault)

    /// Call this when somebody who has not logged in does something to keep.
    static func beginAsGuest() async throws {
        try await session.beginAsGuest()
    }

    /// Makes the guest a person, at a button. It throws `conflict` if the person has an account: offer `mergeGuest`.
    static func linkGuest(_ controller: AuthorizationController) async throws {
        let apple = try await signIn(controller)
        try await session.linkGuest(idToken: apple.idToken, nonce: apple.nonce, code: apple.code, user: apple.user)
    }

    /// Merges the guest into the account of a person who signs in once more. Your servers move what is the guest's.
    static func mergeGuest(_ controller: AuthorizationController) async throws {
        let apple = try await signIn(controller)
        let merged = try await session.mergeGuest(idToken: apple.idToken, nonce: apple.nonce)
        print("\(merged.mergedFrom ?? "Nobody") is \(merged.id) now.")  // Tell your servers.
    }

    static func logIn(_ controller: AuthorizationController) async throws {
        let apple = try await signIn(controller)
        try await session.logIn(idToken: apple.idToken, nonce: apple.nonce, code: apple.code, user: apple.user)
    }

    /// What Apple gives: a code with each id token, and the person's name once.
    private struct Credential { let idToken, nonce, code, user: String }

    private static func signIn(_ controller: AuthorizationController) async throws -> Credential {
        let nonce = try await session.nonce()
        let request = ASAuthorizationAppleIDProvider().createRequest()
        request.requestedScopes = [.email, .fullName]
        request.nonce = SHA256.hash(data: Data(nonce.utf8)).map { String(format: "%02x", $0) }.joined()
        guard case .appleID(let credential) = try await controller.performRequest(request),
            let idToken = credential.identityToken
        else { throw URLError(.userAuthenticationRequired) }
        return Credential(
            idToken: String(decoding: idToken, as: UTF8.self),
            nonce: nonce,
            code: String(decoding: credential.authorizationCode ?? Data(), as: UTF8.self),
            user: try told(by: credential)
        )
    }

    /// The person's name in Apple's form for web pages; Apple gives it once, and an empty text stands for none.
    private static func told(by credential: ASAuthorizationAppleIDCredential) throws -> String {
        guard let name = credential.fullName, name.givenName != nil || name.familyName != nil else { return "" }
        let parts = ["firstName": name.givenName, "lastName": name.familyName].compactMapValues { $0 }
        return String(decoding: try JSONEncoder().encode(["name": parts]), as: UTF8.self)
    }

    static func register(_ deviceToken: Data) async throws {
        #if DEBUG
            let environment = "sandbox"
        #else
            let environment = "production"
        #endif
        let token = deviceToken.map { String(format: "%02x", $0) }.joined()
        let device = Device(token: token, environment: environment, installationId: try installationId())
        try await session.registerDevice(device)
    }

    /// Made once. A phone that is restored from a backup of this one makes its own: the vault stays on this phone.
    private static func installationId() throws -> String {
        if let kept = try vault.get("installation") { return kept }
        let made = UUID().uuidString
        try vault.set("installation", made)
        return made
    }

    /// Deletes the account. The service wants a login of the last 15 minutes for that.
    static func deleteAccount(_ controller: AuthorizationController) async throws {
        let (id, isGuest) = try await shownAccount()
        if isGuest {
            try await session.sendAsGuest("DELETE", account)
            return
        }
        do {
            try await session.call("DELETE", account)
        } catch let error as ServiceError where error.code == "insufficient_user_authentication" {
            try await logIn(controller)
            guard try await shownAccount().id == id else { throw AnotherAccount() }
            try await session.call("DELETE", account)
        }
    }

    private static let account = "/v2/marketing/login/user"

    private static func shownAccount() async throws -> (id: String, isGuest: Bool) {
        struct Account: Decodable {
            let id: String
            let guest: Bool?
        }
        let shown = try JSONDecoder().decode(Account.self, from: await session.call("GET", account))
        return (shown.id, shown.guest ?? false)
    }
}

struct LoginView: View {
    @Environment(\.authorizationController) private var controller

    var body: some View {
        Button("Sign in with Apple") {
            Task {
                do {
                    try await Phone.logIn(controller)
                    UIApplication.shared.registerForRemoteNotifications()
                } catch {
                    print("The login failed:", error)
                }
            }
        }
    }
}

final class AppDelegate: NSObject, UIApplicationDelegate {
    func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {
        Task {
            do { try await Phone.register(deviceToken) } catch { print("The phone is not registered:", error) }
        }
    }
}
