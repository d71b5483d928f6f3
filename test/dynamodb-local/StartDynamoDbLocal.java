import java.io.OutputStream;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.ContextHandler;
import software.amazon.dynamodb.services.local.server.LocalDynamoDBRequestHandler;
import software.amazon.dynamodb.services.local.server.LocalDynamoDBServerHandler;

/**
 * DynamoDB Local in memory, on a free port of the loopback interface: its own main class listens on every interface. Ends
 * when its standard input does, which is when the process that started it has ended.
 */
public class StartDynamoDbLocal {
  public static void main(String[] arguments) throws Exception {
    Logger.getLogger("com.almworks.sqlite4java").setLevel(Level.WARNING);
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    ContextHandler context = new ContextHandler();
    context.setHandler(
        new LocalDynamoDBServerHandler(new LocalDynamoDBRequestHandler(0, true, null, false, false), null));
    server.setHandler(context);
    server.start();
    System.out.println("Listening on port " + connector.getLocalPort());
    System.in.transferTo(OutputStream.nullOutputStream());
    System.exit(0);
  }
}
