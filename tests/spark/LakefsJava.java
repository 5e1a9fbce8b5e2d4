// What lakeFS's file system for Hadoop asks of a server, by the Java client that it stands on: the presigned way of
// reading, writing, listing, renaming and deleting. The published client is used as it is.
//
//     java -cp 'JARS/*' LakefsJava.java URL KEY SECRET REPOSITORY

import io.lakefs.clients.sdk.*;
import io.lakefs.clients.sdk.model.*;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

public class LakefsJava {
    static final HttpClient HTTP = HttpClient.newHttpClient();
    static ObjectsApi objects;
    static StagingApi staging;
    static String repository;

    public static void main(String[] given) throws Exception {
        ApiClient client = new ApiClient().setBasePath(given[0] + "/api/v1");
        client.setUsername(given[1]);
        client.setPassword(given[2]);
        repository = given[3];
        objects = new ObjectsApi(client);
        staging = new StagingApi(client);
        RepositoriesApi repositories = new RepositoriesApi(client);
        BranchesApi branches = new BranchesApi(client);
        CommitsApi commits = new CommitsApi(client);
        RefsApi refs = new RefsApi(client);

        check(repositories.getRepository(repository).execute().getId(), repository);
        check(new ConfigApi(client).getConfig().execute().getStorageConfig().getPreSignSupport(), true);

        for (int number = 0; number < 5; number++) {
            write("in/part-" + number + " é.csv", "row " + number + "\n", null);
        }
        check(read("in/part-3 é.csv"), "row 3\n");
        ObjectStats stat = objects.statObject(repository, "main", "in/part-3 é.csv").execute();
        check(stat.getSizeBytes(), 6L);
        check(stat.getPathType(), ObjectStats.PathTypeEnum.OBJECT);
        check(status(() -> objects.statObject(repository, "main", "in/none").execute()), 404);
        check(status(() -> objects.statObject(repository, "none", "in/none").execute()), 404);

        write("in/once.csv", "first", "*");
        check(status(() -> write("in/once.csv", "second", "*")), 412);
        check(read("in/once.csv"), "first");

        List<String> listed = new ArrayList<>();
        String after = "";
        Pagination page;
        do {
            ObjectStatsList found = objects.listObjects(repository, "main").prefix("in/").after(after).amount(2).execute();
            found.getResults().forEach(each -> listed.add(each.getPath()));
            page = found.getPagination();
            after = page.getNextOffset();
        } while (page.getHasMore());
        check(listed.size(), 6);
        ObjectStatsList folders = objects.listObjects(repository, "main").delimiter("/").execute();
        check(folders.getResults().get(0).getPathType(), ObjectStats.PathTypeEnum.COMMON_PREFIX);
        check(folders.getResults().get(0).getPath(), "in/");

        // A rename is a copy and a deletion.
        ObjectCopyCreation source = new ObjectCopyCreation().srcRef("main").srcPath("in/once.csv");
        check(objects.copyObject(repository, "main", "out/once.csv", source).execute().getSizeBytes(), 5L);
        objects.deleteObject(repository, "main", "in/once.csv").execute();
        check(status(() -> objects.statObject(repository, "main", "in/once.csv").execute()), 404);
        objects.deleteObject(repository, "main", "in/once.csv").execute();
        check(read("out/once.csv"), "first");

        Commit commit = commits.commit(repository, "main", new CommitCreation().message("by Java").metadata(Map.of("a", "b")))
                .execute();
        check(commit.getMetadata().get("a"), "b");
        branches.createBranch(repository, new BranchCreation().name("dev").source("main")).execute();
        PathList paths = new PathList().addPathsItem("in/part-0 é.csv").addPathsItem("in/part-1 é.csv");
        check(objects.deleteObjects(repository, "dev", paths).execute().getErrors().size(), 0);
        commits.commit(repository, "dev", new CommitCreation().message("two are gone")).execute();
        check(refs.diffRefs(repository, "main", "dev").execute().getResults().size(), 2);
        String merged = refs.mergeIntoBranch(repository, "dev", "main").execute().getReference();
        check(branches.getBranch(repository, "main").execute().getCommitId(), merged);
        check(refs.logCommits(repository, "main").amount(1).execute().getResults().get(0).getParents().size(), 2);
        check(status(() -> commits.commit(repository, "main", new CommitCreation().message("none")).execute()), 400);
        System.out.println("done");
        System.exit(0); // its connections would be kept for minutes
    }

    static void write(String path, String text, String ifNoneMatch) throws Exception {
        StagingLocation given = staging.getPhysicalAddress(repository, "main", path).presign(true).execute();
        HttpRequest put = HttpRequest.newBuilder(URI.create(given.getPresignedUrl()))
                .PUT(HttpRequest.BodyPublishers.ofString(text))
                .build();
        HttpResponse<String> taken = HTTP.send(put, HttpResponse.BodyHandlers.ofString());
        check(taken.statusCode(), 200);
        StagingMetadata about = new StagingMetadata()
                .staging(given)
                .checksum(taken.headers().firstValue("etag").orElseThrow().replace("\"", ""))
                .sizeBytes((long) text.getBytes(StandardCharsets.UTF_8).length);
        var link = staging.linkPhysicalAddress(repository, "main", path, about);
        (ifNoneMatch == null ? link : link.ifNoneMatch(ifNoneMatch)).execute();
    }

    static String read(String path) throws Exception {
        ObjectStats stat = objects.statObject(repository, "main", path).presign(true).execute();
        HttpRequest get = HttpRequest.newBuilder(URI.create(stat.getPhysicalAddress())).build();
        return HTTP.send(get, HttpResponse.BodyHandlers.ofString()).body();
    }

    interface Act {
        void run() throws Exception;
    }

    static int status(Act act) throws Exception {
        try {
            act.run();
        } catch (ApiException error) {
            return error.getCode();
        }
        return 0;
    }

    static void check(Object found, Object expected) {
        if (!expected.equals(found)) {
            throw new AssertionError("found " + found + ", not " + expected);
        }
    }
}
