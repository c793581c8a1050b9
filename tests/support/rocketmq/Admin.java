import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Runs mqadmin for each line of its input, whose words are separated by tabs, in one JVM. */
public class Admin {
    public static void main(String[] ignored) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("admin ready");
        for (String line; (line = lines.readLine()) != null; ) {
            MQAdminStartup.main0(line.split("\t"), null);
            System.out.println("\u0004");
            System.out.flush();
        }
        System.exit(0);
    }
}
